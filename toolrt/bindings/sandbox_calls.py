"""Which system calls a run in a sandbox may make, as a filter for the kernel (seccomp, S11).

Refused is what leads around the walls, for the kernel keeps it for the whole machine (keyrings,
sockets of the hypervisor, io_uring, which makes sockets unseen), and what a run has no use for but
finds holes with. It is a short list of what is not allowed, after those of Docker and Flatpak:
programs are to work. The filter is classic BPF, made here by hand: 60 instructions.
"""

import os
import platform
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from errno import EAFNOSUPPORT, ENOSYS, EPERM
from functools import cache
from typing import Final, NamedTuple

_REFUSED: Final = {
    # name: (x86-64, and where the numbers are those of Linux's generic table)
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setns": (308, 268),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "uselib": (134, None),
}
_SOCKETS: Final = {"socket": (41, 198), "socketpair": (53, 199)}
_FAMILIES: Final = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK: the namespaces hold these, and not the others."""

_LOAD, _IS, _IS_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _AUDIT_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
"""Offsets in `struct seccomp_data`; of an argument, its lower half on a little-endian machine."""
_ALLOW, _FAIL, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_X32: Final = 0x40000000
"""Numbers of calls by programs with short pointers begin here, on x86-64."""


class _Machine(NamedTuple):
    """How the kernel calls it (AUDIT_ARCH), and which column of the tables is its."""

    audit: int
    column: int


_MACHINES: Final = {
    "x86_64": _Machine(0xC000003E, 0),
    "aarch64": _Machine(0xC00000B7, 1),
    "riscv64": _Machine(0xC00000F3, 1),
}


@cache
def program(machine: str) -> bytes | None:
    """The filter for a machine (`platform.machine()`); None where its numbers are not known.

    Each instruction is `struct sock_filter`: what to do, how many to leave out where it holds and
    where it does not, and with which number.
    """
    found = _MACHINES.get(machine)
    if found is None:
        return None
    refused = _numbers(_REFUSED, found.column)
    sockets = _numbers(_SOCKETS, found.column)
    ahead = len(refused) + len(sockets)
    code = [
        (_LOAD, 0, 0, _AUDIT_AT),
        (_IS, 1, 0, found.audit),
        (_RETURN, 0, 0, _KILL),  # a program for another machine, whose numbers mean other calls
        (_LOAD, 0, 0, _NUMBER_AT),
        (_IS_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _FAIL | ENOSYS),
        *((_IS, ahead - at, 0, number) for at, number in enumerate(refused)),
        *((_IS, len(sockets) - at + 1, 0, number) for at, number in enumerate(sockets)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _FAIL | EPERM),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_AT),
        *((_IS, len(_FAMILIES) - at, 0, family) for at, family in enumerate(_FAMILIES)),
        (_RETURN, 0, 0, _FAIL | EAFNOSUPPORT),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("<HBBI", *each) for each in code)


@contextmanager
def opened() -> Iterator[int | None]:
    """A descriptor that the filter for this machine can be read from once, if there is one."""
    made = program(platform.machine())
    if made is None:
        yield None
        return
    reader, writer = os.pipe()
    try:
        os.write(writer, made)  # it is far smaller than a pipe
        os.close(writer)
        yield reader
    finally:
        os.close(reader)


def options(descriptor: int | None) -> tuple[str, ...]:
    """Those of bubblewrap for a filter that was opened."""
    return () if descriptor is None else ("--seccomp", str(descriptor))


def _numbers(table: Mapping[str, tuple[int, int | None]], column: int) -> list[int]:
    found = (numbers[column] for numbers in table.values())
    return [number for number in found if number is not None]
