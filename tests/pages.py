"""The tables of the pages below `docs`, for tests that hold them against the code."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def text(page: str) -> str:
    """The whole of a page."""
    return (DOCS / page).read_text(encoding="utf-8")


def prose(page: str) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text(page), flags=re.MULTILINE | re.DOTALL)


def section(page: str, title: str) -> str:
    """What stands below a heading, up to the next one of any level, without fenced blocks."""
    below = rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)"
    found = re.search(below, prose(page), re.MULTILINE | re.DOTALL)
    assert found, f"{page} has no heading {title!r}"
    return found[1]


def tables(page: str, title: str) -> list[list[list[str]]]:
    """The tables of a section: their rows without the head, each a list of cells."""
    found = re.findall(r"(?:^\|.*\n)+", section(page, title), re.MULTILINE)
    return [[_cells(line) for line in table.splitlines()[2:]] for table in found]


def rows(page: str, title: str) -> list[list[str]]:
    """The rows of the first table of a section, cells that are all code without backticks."""
    return [[bare(cell) for cell in row] for row in tables(page, title)[0]]


def bare(cell: str) -> str:
    """What a cell says, without backticks when all of it is code."""
    return cell[1:-1] if re.fullmatch("`[^`]+`", cell) else cell


def code(cell: str) -> list[str]:
    """The pieces of code in a cell."""
    return re.findall("`([^`]+)`", cell)


def _cells(line: str) -> list[str]:
    return [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
