"""The file with the key of one start: private, of this start, and gone with it (X6)."""

import json
import os
from pathlib import Path

from toolrt.faces.http.keyfile import Running, found, kept, path_of

HERE = Running("http://127.0.0.1:1", "key", os.getpid())


def test_x6_it_is_private_and_goes_with_the_server(tmp_path: Path) -> None:
    path = path_of(tmp_path / "state", 1)
    with kept(path, HERE) as is_kept:
        mode, servers = path.stat().st_mode & 0o777, found(path.parent)

    assert is_kept
    assert mode == 0o600
    assert servers == [HERE]
    assert not path.exists()


def test_what_a_dead_server_left_is_passed_over_and_written_over(tmp_path: Path) -> None:
    path = path_of(tmp_path, 1)
    path.write_text(json.dumps({"url": "http://127.0.0.1:1", "key": "old", "pid": 2**22 + 1}))
    before = found(tmp_path)
    with kept(path, HERE):
        during = found(tmp_path)

    assert (before, during) == ([], [HERE])


def test_that_of_another_server_stays(tmp_path: Path) -> None:
    path, other = path_of(tmp_path, 1), Running("http://127.0.0.1:1", "new", os.getpid())
    with kept(path, HERE), kept(path, other):
        path.write_text(json.dumps({"url": other.url, "key": "third", "pid": other.pid}))

    assert json.loads(path.read_text())["key"] == "third"


def test_a_link_is_neither_followed_nor_removed(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    canary.write_text("safe")
    path = path_of(tmp_path, 1)
    path.symlink_to(canary)
    with kept(path, HERE) as is_kept:
        assert not is_kept

    assert canary.read_text() == "safe"
    assert path.is_symlink()
    assert found(tmp_path) == []


def test_what_is_no_key_is_passed_over(tmp_path: Path) -> None:
    file = {"url": "file:///etc/hostname#", "key": "k", "pid": os.getpid()}
    odd = [{**file, "url": 5}, {**file, "url": "http://127.0.0.1:1", "pid": "1"}]
    texts = ["", "[]", "{}", '{"url": 1}', "\x00", *map(json.dumps, [file, *odd])]
    for number, text in enumerate(texts):
        path_of(tmp_path, number).write_text(text)

    assert found(tmp_path) == []
