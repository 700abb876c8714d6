"""What a run in a sandbox sees, as options of bubblewrap: nothing but what is listed here.

The system's programs and libraries, a few files of /etc, an empty /tmp and HOME, a /proc and a /dev
of its own; of the project and the folders of its paths `sandbox` tells. All but /tmp is read-only.
"""

import os
from functools import cache
from pathlib import Path
from typing import Final

_TMP: Final = "/tmp"  # noqa: S108 (the sandbox's own)
_SHARED: Final = "/dev/shm"  # noqa: S108 (the sandbox's own)
HOME: Final = f"{_TMP}/.home"
"""HOME of a run, unless the tool declares one."""

_WALLS: Final = (
    "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --disable-userns"
    " --cap-drop ALL --die-with-parent --hostname sandbox"
)
"""No `--new-session`: a run has a session without a terminal already, and in its own group its end
is waited for like that of any other.
"""
_SOFTWARE: Final = ("/opt", "/nix/store", "/gnu/store")
"""Folders that are shown where the program is in one of them."""
_TOP: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC: Final = """
    alternatives ld.so.cache ld-musl-*.path passwd group hosts localtime fonts java-*-openjdk
    crypto-policies ssl/openssl.cnf pki/tls/openssl.cnf
"""
_ETC_OF_NETWORK: Final = """
    resolv.conf nsswitch.conf host.conf gai.conf services protocols mime.types ssl/certs
    pki/tls/certs pki/ca-trust/extracted pki/java ca-certificates/extracted
"""
"""Each costs a run some hundredth of what the whole sandbox does."""
_MADE: Final = ("/usr", "/etc", "/proc", "/dev", _TMP, f"/var{_TMP}")
_LEAST: Final = 4096
"""What a size of 0 would mean for bubblewrap is no limit."""

COMMON: Final = (b"--remount-ro", b"/")
"""Last of all: nothing can be made beside what is shown."""


def walls(network: bool) -> tuple[str, ...]:
    """Namespaces, no rights in them, and an end with whoever started it."""
    return (*_WALLS.split(), *(() if network else ("--unshare-net",)))


@cache
def system(network: bool) -> tuple[str, ...]:
    """The system's programs, libraries and settings, as this machine has them."""
    options = ["--ro-bind", "/usr", "/usr"]
    for name in _TOP:
        options += _as_it_is(f"/{name}")
    for pattern in f"{_ETC} {_ETC_OF_NETWORK if network else ''}".split():
        for found in sorted(Path("/etc").glob(pattern)):
            options += _setting(found)
    return tuple(options)


def private(size: int) -> tuple[str, ...]:
    """/proc, /dev, /tmp and HOME of the run's own; `size` bytes are what it may keep in memory.

    /proc is read-only: its settings of the kernel belong to the account that is root outside, which
    a run of root still is to the kernel.
    """
    most = str(max(size, _LEAST))
    return (
        *("--proc", "/proc", "--remount-ro", "/proc"),
        *("--dev", "/dev", "--size", most, "--tmpfs", _SHARED, "--remount-ro", "/dev"),
        *("--size", most, "--tmpfs", _TMP, "--dir", HOME, "--symlink", f"..{_TMP}", f"/var{_TMP}"),
    )


def is_seen(real: str, project: str) -> tuple[str, ...] | None:
    """The options that show a program by its resolved path; None where there is no such."""
    if any(is_in(real, place) for place in (project, "/usr", *(f"/{name}" for name in _TOP))):
        return ()
    for folder in _SOFTWARE:
        if is_in(real, folder):
            return ("--ro-bind", folder, folder)
    return None


def covers_the_system(folder: str) -> bool:
    """Whether to show the folder would show what must be hidden, or hide what is made."""
    is_above = any(is_in(made, folder) for made in _MADE if made != "/usr")
    return is_above or is_in(folder, "/proc") or is_in(folder, "/dev")


def _as_it_is(place: str) -> tuple[str, ...]:
    if os.path.islink(place):  # noqa: PTH114 (plain texts)
        return ("--symlink", os.readlink(place), place)  # noqa: PTH115 (plain texts)
    return ("--ro-bind", place, place) if os.path.isdir(place) else ()  # noqa: PTH112 (a plain text)


def _setting(file: Path) -> tuple[str, ...]:
    """A file of /etc: a link where that leads to what is shown anyway, which costs less."""
    if not file.exists():
        return ()
    if file.is_symlink() and is_in(str(file.resolve()), "/usr"):
        return ("--symlink", str(file.resolve()), str(file))
    return ("--ro-bind", str(file), str(file))


def is_in(place: str, folder: str) -> bool:
    """Whether a place is the folder or below it."""
    return place == folder or place.startswith(f"{folder.rstrip('/')}/")
