"""The first answers over stdio, given before anything heavy is imported.

What a client of the last start was told is kept beside the project's state. If no file has changed
since, a new client is told the same at once, while it is yet to call anything; what should have
changed all the same is corrected once the project is open, as after a reload.
"""

import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolrt import __version__
from toolrt.faces.cli.options import Settings
from toolrt.faces.exits import Exit
from toolrt.faces.mcp import eras

if TYPE_CHECKING:
    from toolrt.faces.mcp.eras import Era

FILE = Path(".toolrt", "mcp-start.json")
_PROJECT = ("toolrt.yaml", "tools.d")
_CHUNK = 256 * 1024
_MOST = 16 * 1024 * 1024
_STDIN = 0
_LONGEST, _DEEPEST, _LARGE = 64 * 1024, 32, 2**53
_LONGEST_ID = 256

Kept = Mapping[str, Any]
"""What was told: `initialize` without its version, `discover`, `tools` by era; of which `files`."""


@dataclass(slots=True)
class Told:
    """What a client has been told so far, and what of its input is yet to be answered.

    `params` are those of its handshake; `tools` are the lists that it got, by era.
    """

    rest: bytes = b""
    is_over: bool = False
    params: dict[str, Any] | None = None
    tools: dict[str, str] = field(default_factory=dict)


def serve_stdio(settings: Settings, *, watch: bool) -> Exit:
    """Serve the project to whoever started this process, until they are done.

    Raises ProjectError.
    """
    source, sink = _taken_stdin(), settings.screen.out.fileno()
    kept = _kept(settings.project_option)
    told = Told() if kept is None else _answered(kept, source, sink)
    if told.is_over and not told.rest.strip():
        return Exit.OK
    from toolrt.faces.mcp.stdio import serve  # noqa: PLC0415 - all that is heavy

    serve(settings.project(), source, sink, told, watch=watch)
    return Exit.OK


def stamps(root: Path, files: Iterator[Path]) -> dict[str, list[int]]:
    """What tells whether these files, or entries of these folders, are other than before."""
    return {str(path): stamp for path in files if (stamp := _stamp(root / path)) is not None}


def _taken_stdin() -> int:
    """Where the input comes from; what runs from now on reads none of it."""
    source = os.dup(_STDIN)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, _STDIN)
    os.close(nothing)
    return source


def _kept(named: str | None) -> Kept | None:
    """What the client of the last start was told, if it holds still."""
    root = _root(Path(named or "."))
    if root is None or (named and root != Path(named).resolve()):
        return None
    try:
        number = os.open(root / FILE, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    with os.fdopen(number, "rb") as file:
        found = os.fstat(number)
        is_ours = found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not is_ours or found.st_size > _MOST:
            return None
        return _still_true(file.read(), root)


def _still_true(written: bytes, root: Path) -> Kept | None:
    try:
        kept: Kept = json.loads(written)
        files = kept["files"]
        is_same = kept["version"] == __version__ and kept["root"] == str(root)
        is_true = is_same and all(_stamp(root / path) == is_ for path, is_ in files.items())
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return kept if is_true else None


def _root(start: Path) -> Path | None:
    try:
        folder = start.resolve()
        folders = (folder, *folder.parents)
        return next((each for each in folders if any((each / n).exists() for n in _PROJECT)), None)
    except OSError:
        return None


def _stamp(path: Path) -> list[int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size, found.st_ino]


def _answered(kept: Kept, source: int, sink: int) -> Told:
    """Answer until there is something that only an open project can answer, or the list is out."""
    told = Told()
    while not told.tools:
        line, newline, rest = told.rest.partition(b"\n")
        if not newline:
            chunk = os.read(source, _CHUNK)
            told.rest += chunk
            told.is_over = not chunk
            if told.is_over or len(told.rest) > _MOST:
                return told
            continue
        answer = _answer(line, kept, told)
        if answer is None:
            return told
        told.rest = rest
        _write(sink, answer)
    return told


def _answer(line: bytes, kept: Kept, told: Told) -> bytes | None:
    """The answer to a line, empty where none is due; None where it is not for here."""
    if not line.strip():
        return b""
    message = _surely_whole(line)
    if type(message) is not dict or message.get("jsonrpc") != "2.0":
        return None
    method, id_, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "notifications/initialized" and "id" not in message:
        return b""
    is_text = type(id_) is str and len(id_) <= _LONGEST_ID
    is_id = is_text or (type(id_) is int and abs(id_) < _LARGE)
    if not is_id or type(params) is not dict:
        return None
    result = _result(method, params, kept, told)
    if result is None:
        return None
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (json.dumps(id_).encode(), result.encode())


def _surely_whole(line: bytes) -> Any:
    """What a plain line says; None for any that there is the least doubt about: the server reads it
    with more care, and says what is wrong.
    """
    depth = line.count(b"{") + line.count(b"[")
    if len(line) > _LONGEST or depth > _DEEPEST or b"\\u" in line:
        return None
    try:
        return json.loads(
            line.decode(),
            object_pairs_hook=_whole,
            parse_constant=_refused,
            parse_float=_refused,
        )
    except (ValueError, RecursionError):
        return None


def _whole(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError
    return made


def _refused(_number: str) -> Any:
    raise ValueError


def _result(method: object, params: dict[str, Any], kept: Kept, told: Told) -> str | None:
    era = _era(params)
    if method == "initialize" and era == "handshake":
        return _initialized(params, kept, told)
    if method == "server/discover" and era == "modern":
        discover: str = kept["discover"]
        return discover
    has_begun = told.params is not None or era == "modern"
    if method == "tools/list" and era is not None and has_begun and "cursor" not in params:
        listed: str | None = kept["tools"].get(era)
        if listed is not None:
            told.tools[era] = listed
        return listed
    return None


def _initialized(params: dict[str, Any], kept: Kept, told: Told) -> str | None:
    asked, capabilities = params.get("protocolVersion"), params.get("capabilities")
    if type(asked) is not str or type(capabilities) is not dict:
        return None
    told.params = params
    version = asked if asked in eras.HANDSHAKE_VERSIONS else eras.LATEST_HANDSHAKE
    return json.dumps({"protocolVersion": version, **kept["initialize"]}, separators=(",", ":"))


def _era(params: dict[str, Any]) -> "Era | None":
    """The era of a request; None for one that does not say enough."""
    if not eras.is_modern(params):
        return "handshake"
    meta = params["_meta"]
    is_whole = type(meta.get(eras.CAPABILITIES_KEY)) is dict
    return "modern" if is_whole and meta[eras.VERSION_KEY] == eras.MODERN else None


def _write(sink: int, line: bytes) -> None:
    rest = memoryview(line)
    try:
        while rest:
            rest = rest[os.write(sink, rest) :]
    except OSError:  # the client has gone: its input ends, too
        return
