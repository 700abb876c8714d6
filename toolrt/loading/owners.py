"""Whose a project's folders and files are: who may write there decides what tools may do.

One that everybody may write to, or that belongs neither to us nor to root, is foreign.
"""

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

HINT = "make them yours and nobody else's to write, or allow it with --allow-foreign-config"
ALLOW = "TOOLRT_ALLOW_FOREIGN_CONFIG"
"""The variable of the environment that says the same as the option."""


def is_allowed(environ: Mapping[str, str]) -> bool:
    """Whether the environment lets foreign folders be."""
    return environ.get(ALLOW, "") not in ("", "0")


def why_foreign(places: Iterable[Path]) -> str | None:
    """What is wrong with the owners of folders and files; None when nothing is. What is not there
    is right.

    Links are followed: it is what stands behind that counts.
    """
    for place in places:
        try:
            found = place.stat()
        except OSError:
            continue
        if not (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)):
            continue  # such as a device: nobody reads it
        if found.st_mode & stat.S_IWOTH:
            return f"everybody may write to {place}"
        if found.st_uid not in (os.geteuid(), 0):
            return f"{place} belongs to user {found.st_uid}, not to the one who runs this"
    return None
