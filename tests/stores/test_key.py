"""The lasting key."""

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolrt.core.errors import ProjectError
from toolrt.stores.base import StoreError
from toolrt.stores.key import derived, given_key, lasting_key


def test_a20_a_key_is_made_once_and_for_its_owner_only(tmp_path):
    path = tmp_path / ".toolrt" / "key"
    key = lasting_key(path)

    assert len(key) == 32
    assert lasting_key(path) == key
    assert path.read_text().strip() == key.hex()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["key"]


def test_a20_two_projects_have_two_keys(tmp_path):
    assert lasting_key(tmp_path / "a" / "key") != lasting_key(tmp_path / "b" / "key")


@pytest.mark.parametrize("text", ["", "\n", "abc", "zz" * 32, "ab" * 31, "ab" * 33, "\x00" * 64])
def test_a20_a_broken_key_is_told_and_never_made_anew(tmp_path, text):
    path = tmp_path / "key"
    path.write_text(text)

    with pytest.raises(StoreError) as caught:
        lasting_key(path)
    assert caught.value.problem == "corrupt"
    assert str(path) in caught.value.message
    assert path.read_text() == text


def test_a20_a_key_open_to_others_is_closed_to_them(tmp_path):
    path = tmp_path / "key"
    key = lasting_key(path)
    path.chmod(0o644)

    assert lasting_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a20_no_folder_means_no_key(tmp_path):
    with pytest.raises(StoreError) as caught:
        lasting_key(tmp_path / "no" / "such" / "key")
    assert caught.value.problem == "unreachable"


def test_a20_those_that_begin_at_once_have_the_same_key(tmp_path):
    with ThreadPoolExecutor(8) as threads:
        for number in range(20):
            keys = list(threads.map(lasting_key, [tmp_path / str(number) / "key"] * 8))
            assert len(set(keys)) == 1


def test_a_given_key_is_taken_as_it_is_unless_it_is_easily_guessed():
    assert given_key("0123456789abcdef") == b"0123456789abcdef"

    with pytest.raises(ProjectError, match="16"):
        given_key("secret")


def test_keys_for_different_purposes_differ():
    assert derived(b"k", "journal") != derived(b"k", "arguments")
    assert derived(b"k", "journal") == derived(b"k", "journal")


def test_a20_a_folder_that_is_closed_to_us_is_told(tmp_path, monkeypatch):
    def refuse(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / ".toolrt").mkdir()
    monkeypatch.setattr("pathlib.Path.lstat", refuse)

    with pytest.raises(StoreError) as caught:
        lasting_key(tmp_path / ".toolrt" / "key")
    assert caught.value.problem == "unreachable"
