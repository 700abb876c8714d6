"""Writes the expected rendering beside each file of `golden/`: python tests/loading/regenerate.py.

Look at the difference before you keep it.
"""

from pathlib import Path

from toolrt.loading.reader import read
from toolrt.loading.snippet import render, summary

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.glob("*.yaml"))


def rendering(path: Path) -> str:
    """What `check` shows for a file; one whose name begins with `policy` is read as policies."""
    document = read(path.read_bytes(), path.name, allow_merge=not path.name.startswith("policy"))
    shown = render(document.faults, {path.name: document.text})
    return f"{shown}\n{summary(document.faults)}\n"


if __name__ == "__main__":
    for file in FILES:
        file.with_suffix(".txt").write_text(rendering(file), encoding="utf-8")
