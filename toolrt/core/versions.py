"""Versions of tools: `forecast@2` is a name and a version; of several, the latest is meant (X2)."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, Protocol, TypeVar

AT: Final = "@"
_VERSION: Final = r"[0-9A-Za-z][0-9A-Za-z._-]*"
VERSION: Final = re.compile(_VERSION)


def with_version(name: str) -> str:
    """The pattern of names, which ends in `$`, for names that may end in a version."""
    return f"{name.removesuffix('$')}({AT}{_VERSION})?$"


def base_of(name: str) -> str:
    """The name without its version."""
    return name.partition(AT)[0]


def version_in(name: str) -> str | None:
    """The version that a name ends in; None where it has none."""
    _, at, version = name.partition(AT)
    return version if at else None


def said_by(name: str) -> dict[str, str]:
    """The key of a tool that its name writes: its version, if there is one."""
    version = version_in(name)
    return {} if version is None else {"version": version}


def spellings(name: str, version: str | None) -> Iterator[str]:
    """Every name that means this version of a tool, beside its own."""
    base = base_of(name)
    if base != name:
        yield base
    elif version is not None:
        yield f"{base}{AT}{version}"


class Versioned(Protocol):
    """What may have a version; a tool does."""

    @property
    def version(self) -> str | None: ...


T = TypeVar("T", bound=Versioned)


def meant(name: str, tools: Mapping[str, T]) -> T | None:
    """The tool of that name; it may end in the version that the plain name means."""
    found = tools.get(name)
    if found is not None or AT not in name:
        return found
    found = tools.get(base_of(name))
    return found if found is not None and found.version == version_in(name) else None


def is_older(name: str, names: Mapping[str, object]) -> bool:
    """Whether a tool is one version of several, and another one is meant by the plain name."""
    return AT in name and base_of(name) in names


def order(version: str) -> list[tuple[int, int, str]]:
    """A key to sort versions by, oldest first: numbers count as such, and come behind letters, so
    that 1.10 is later than 1.9, and 2.0 later than 2.0-rc1.
    """
    pieces = re.findall(r"[0-9]+|[A-Za-z]+", version)
    found = [(1, int(each), "") if each.isdigit() else (-1, 0, each.lower()) for each in pieces]
    return [*found, (0, 0, "")]
