"""A folder that somebody exchanges for a link, again and again, while tools work in it (F1, H29)."""

import contextlib
import ctypes
import os
import threading
from pathlib import Path

import pytest
from faults.ledger import amount

from toolrt.core.errors import ToolError

SECRET = b"a secret from outside"
LIBC = ctypes.CDLL(None, use_errno=True)
EXCHANGE, HERE = 2, -100


def exchange(one, other):
    """Let two names change places, in one step (renameat2)."""
    names = (ctypes.c_char_p(os.fsencode(each)) for each in (one, other))
    one, other = names
    assert LIBC.renameat2(HERE, one, HERE, other, EXCHANGE) == 0


@contextlib.contextmanager
def swapping(real, aim):
    """`real` is what it is, then a link to `aim`, then itself again; as fast as it goes."""
    link = real.with_name("link")
    link.symlink_to(aim)
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            exchange(real, link)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_f1_h29_a_folder_swapped_with_a_link_never_leads_outside(desk):
    (desk.outside / "f").write_bytes(SECRET)
    desk.put("d/f", "inside")
    came = {"inside": 0, "refused": 0}

    with swapping(desk.folder / "d", desk.outside):
        for number in range(amount(1500, 20_000)):
            try:
                said = desk.call(*(("read", "d/f"), ("grep", ".", "d/f"))[number % 2])
            except ToolError as error:
                assert error.code in {"blocked-target", "not-found"}  # noqa: PT017 - either may be
                came["refused"] += 1
                continue
            assert SECRET.decode() not in str(said)
            came["inside"] += "inside" in str(said)

    assert came["inside"]
    assert came["refused"]


def test_f1_h29_what_is_written_meanwhile_stays_inside(desk):
    (desk.outside / "f").write_bytes(SECRET)
    desk.put("d/f", "0")

    with swapping(desk.folder / "d", desk.outside):
        for number in range(amount(300, 20_000)):
            with contextlib.suppress(ToolError):
                desk.call("write", "d/f", text=str(number))
            with contextlib.suppress(ToolError):
                desk.call("create", f"d/new/{number}", text="")

    assert (desk.outside / "f").read_bytes() == SECRET
    assert [each.name for each in desk.outside.iterdir()] == ["f"]


def test_f1_h29_a_file_swapped_with_a_link_is_replaced_or_left_alone(desk):
    canary = desk.outside / "f"
    canary.write_bytes(SECRET)
    place = desk.put("f", "0")

    with swapping(place, canary):
        for number in range(amount(300, 20_000)):
            with contextlib.suppress(ToolError):
                desk.call("write", "f", text=str(number))
            with contextlib.suppress(ToolError):
                assert SECRET.decode() not in desk.call("read", "f")["text"]

    assert canary.read_bytes() == SECRET
    assert Path(canary).stat().st_nlink == 1


@pytest.mark.parametrize("depth", [1, 3])
def test_f1_h29_a_walk_does_not_leave_the_folder_either(desk, depth):
    (desk.outside / "f").write_bytes(SECRET)
    desk.put("d/" + "a/" * (depth - 1) + "f", "inside")

    with swapping(desk.folder / "d", desk.outside):
        for _ in range(amount(300, 20_000)):
            assert SECRET.decode() not in str(desk.call("grep", "."))
