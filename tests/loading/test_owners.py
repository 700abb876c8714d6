import os

import pytest

from toolrt.loading.owners import is_allowed, why_foreign


def test_l10_a_folder_of_ours_is_right_and_so_is_none(tmp_path):
    assert why_foreign([tmp_path, tmp_path / "nothing"]) is None


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_l10_a_folder_that_everybody_may_write_to_is_foreign(tmp_path, mode):
    tmp_path.chmod(mode)

    assert why_foreign([tmp_path]) == f"everybody may write to {tmp_path}"


def test_l10_the_folder_behind_a_link_counts(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there").chmod(0o777)
    (tmp_path / "link").symlink_to("there")

    assert why_foreign([tmp_path / "link"]) is not None


def test_l10_a_folder_of_somebody_else_is_foreign_but_not_one_of_root(tmp_path, monkeypatch):
    found = tmp_path.stat()
    monkeypatch.setattr(os, "geteuid", lambda: found.st_uid + 1)

    said = None if found.st_uid == 0 else f"{tmp_path} belongs to user {found.st_uid}"
    assert (why_foreign([tmp_path]) or "").startswith(said or "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
def test_l10_a_folder_that_was_given_away_is_foreign(tmp_path):
    os.chown(tmp_path, 12345, -1)

    assert why_foreign([tmp_path]) == (
        f"{tmp_path} belongs to user 12345, not to the one who runs this"
    )


@pytest.mark.parametrize(
    ("value", "is_so"), [(None, False), ("", False), ("0", False), ("1", True)]
)
def test_l10_the_environment_may_allow_it(value, is_so):
    environ = {} if value is None else {"TOOLRT_ALLOW_FOREIGN_CONFIG": value}

    assert is_allowed(environ) is is_so
