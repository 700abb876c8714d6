"""What a callable raised, in words: no path, no credential, and never an error of its own."""

from pathlib import Path

import pytest

from toolrt.bindings.python_errors import message_of, without_paths

PROJECT = Path("/project")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at /project/a/b.py", "at a/b.py"),
        ("at /etc/hosts here", "at …/hosts here"),
        ("at /no-such-folder/x", "at /no-such-folder/x"),
        ("at /etc/\ud800", "at …/\ud800"),
    ],
)
def test_paths_lose_what_leads_to_them(text, shown):
    assert without_paths(text, PROJECT) == shown


@pytest.mark.parametrize("name", ["a" * 256, "a" * 5000, "é" * 200, "\0", "\ud800", "a/" * 3000])
def test_no_name_is_too_odd_to_be_looked_at(name):
    assert without_paths(f"at /{name}", PROJECT).startswith("at ")
    assert message_of(OSError(f"at /{name}/x"), PROJECT).startswith("OSError: at ")
