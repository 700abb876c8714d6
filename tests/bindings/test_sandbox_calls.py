"""The filter for system calls, as the kernel would run it."""

import errno
import os
import struct

import pytest

from toolrt.bindings import sandbox_calls
from toolrt.bindings.sandbox_calls import options, program

X86_64, ARM64, RISCV64, I386 = 0xC000003E, 0xC00000B7, 0xC00000F3, 0x40000003
ALLOWED, KILLED = 0x7FFF0000, 0x80000000


def verdict(filtering, audit, number, argument=0):
    """What a filter says of a call: classic BPF, as far as it is used there."""
    code = list(struct.iter_unpack("<HBBI", filtering))
    data = struct.pack("<IIQ6Q", number, audit, 0, argument, 0, 0, 0, 0, 0)
    at, held = 0, 0
    while True:
        what, then, otherwise, operand = code[at]
        at += 1
        if what == 0x06:
            return operand
        if what == 0x20:
            (held,) = struct.unpack_from("<I", data, operand)
        else:
            at += then if (held == operand if what == 0x15 else held >= operand) else otherwise


def refused(number):
    return 0x00050000 | number


@pytest.mark.parametrize(
    ("machine", "audit", "column"),
    [("x86_64", X86_64, 0), ("aarch64", ARM64, 1), ("riscv64", RISCV64, 1)],
)
def test_s11_each_call_of_the_table_is_refused_and_no_other(machine, audit, column):
    filtering = program(machine)
    listed = {each[column] for each in sandbox_calls._REFUSED.values()} - {None}
    sockets = {each[column] for each in sandbox_calls._SOCKETS.values()}

    assert {
        n for n in range(600) if verdict(filtering, audit, n, 1) == refused(errno.EPERM)
    } == listed
    assert {
        n for n in range(600) if verdict(filtering, audit, n, 40) != ALLOWED
    } == listed | sockets


@pytest.mark.parametrize("number", [41, 53])
def test_s11_sockets_are_of_the_families_that_namespaces_hold(number):
    made = [f for f in range(64) if verdict(program("x86_64"), X86_64, number, f) == ALLOWED]

    assert made == [1, 2, 10, 16]
    assert verdict(program("x86_64"), X86_64, number, 40) == refused(errno.EAFNOSUPPORT)
    assert verdict(program("x86_64"), X86_64, number, (1 << 32) | 40) == refused(errno.EAFNOSUPPORT)


def test_s11_no_other_numbering_gets_around_the_table():
    assert verdict(program("x86_64"), I386, 1) == KILLED
    assert verdict(program("x86_64"), ARM64, 1) == KILLED
    assert verdict(program("x86_64"), X86_64, 0x40000000 | 250) == refused(errno.ENOSYS)


def test_without_a_table_there_is_no_filter(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "sparc64")

    assert program("sparc64") is None
    with sandbox_calls.opened() as descriptor:
        assert options(descriptor) == ()


def test_a_filter_is_read_once_and_its_descriptor_is_closed(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    with sandbox_calls.opened() as descriptor:
        assert options(descriptor) == ("--seccomp", str(descriptor))
        assert os.read(descriptor, 1 << 16) == program("x86_64")
        assert os.read(descriptor, 1) == b""
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(descriptor)
