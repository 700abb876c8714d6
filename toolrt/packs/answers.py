"""What file tools answer: JSON for programs, and in it the text and the note that a model reads."""

from collections.abc import Sequence
from typing import Any, Final

from toolrt.packs.refusals import visible
from toolrt.packs.searching import Search
from toolrt.packs.texts import check_characters
from toolrt.packs.versions import check_size
from toolrt.packs.walking import Found, Walk

_ENDS: Final = {"folder": "/", "link": " (a link)", "other": " (no regular file)", "file": ""}
_NOT_ALL: Final = "not everything was looked at: narrow it down with `path`"


def listing(found: Sequence[Found], most: int, walk: Walk) -> dict[str, Any]:
    """The names, and how many more there are."""
    shown = found[:most]
    lines = [f"{_path(each)}{_ENDS[each.form]}" for each in shown]
    notes = [f"{len(found) - most} more"] if len(found) > most else []
    if not found:
        notes.append("nothing there")
    return {
        "entries": [_entry(each) for each in shown],
        "more": max(0, len(found) - most),
        "text": "\n".join(lines),
        "note": _note(notes, walk, bool(lines)),
    }


def hits(search: Search) -> dict[str, Any]:
    """The lines that were found, and what was left out."""
    found = [
        {"path": visible("/".join(hit.parts)), "line": hit.line, "text": hit.text}
        for hit in search.hits
    ]
    lines = [f"{each['path']}:{each['line']}: {each['text']}" for each in found]
    notes = [f"{search.more} more lines"] if search.more else []
    if not lines:
        notes.append(f"no such line in {search.files} files")
    notes += [f"{count} files left out: {why}" for why, count in sorted(search.skipped.items())]
    return {
        "hits": found,
        "more": search.more,
        "files": search.files,
        "text": "\n".join(lines),
        "note": _note(notes, search.walk, bool(lines)),
    }


def replaced(parts: Sequence[str], count: int, line: int) -> dict[str, Any]:
    """What an edit did: how many places, and the line of the first."""
    shown = "/".join(parts)
    where = f"in line {line}" if count == 1 else f"{count} times, first in line {line}"
    told = {"path": shown, "replaced": count, "line": line}
    return {**told, "text": f"{visible(shown)}: replaced {where}"}


def written(parts: Sequence[str], body: bytes, how: str) -> dict[str, Any]:
    """What was written, and whether it is new."""
    shown = "/".join(parts)
    told = {"path": shown, "bytes": len(body), "is_new": how == "made"}
    return {**told, "text": f"{visible(shown)}: {how}, {len(body):,} bytes"}


def body_of(text: str) -> bytes:
    """The bytes of a text to write. Raises ToolError (invalid-arguments)."""
    check_characters(text, "text")
    return check_size(text.encode())


def _path(found: Found) -> str:
    return visible("/".join(found.parts))


def _entry(found: Found) -> dict[str, Any]:
    made: dict[str, Any] = {"path": _path(found), "form": found.form}
    return made if found.size is None else {**made, "size": found.size}


def _note(notes: list[str], walk: Walk, is_behind: bool) -> str:
    told = notes if walk.is_whole else [*notes, _NOT_ALL]
    return f"{chr(10) if is_behind else ''}[{'; '.join(told)}]" if told else ""
