"""The shortest way of a call over HTTP: of a tool that waits for nothing, and tells nothing on the
way. Such a call cannot be called off, so nobody has to know that it runs.

What is unusual about a request is left to the long way, which also says what is wrong with it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from toolrt.core.calls import Caller
from toolrt.core.results import ToolResult
from toolrt.faces.mcp import eras
from toolrt.faces.mcp.calling import known
from toolrt.faces.mcp.contents import result_of
from toolrt.faces.mcp.messages import Message, answer
from toolrt.faces.mcp.protocol import Protocol
from toolrt.faces.mcp.sessions import Sessions
from toolrt.faces.mcp.shelves import Shelved
from toolrt.opened import Runtime

Headers = Mapping[bytes, bytes]
RawHeaders = Sequence[tuple[bytes, bytes]]

_BEGIN = b'{"jsonrpc":"2.0","id":'
_CONTENT = b',"result":{"content":[{"type":"text","text":'
_DATA = b'}],"isError":false,"structuredContent":'
_META = b',"_meta":{"toolrt/call_id":"'
_ENDS: Mapping[eras.Era, bytes] = {
    "handshake": b'"}}}',
    "modern": b'","%b":%b},"resultType":"complete"}}'
    % (eras.SERVER_KEY.encode(), to_json(eras.SERVER)),
}
_MODERN = eras.MODERN.encode()
_CALL = b"tools/call"


class Quick:
    """Calls on the shortest way."""

    def __init__(self, runtime: Runtime, protocol: Protocol, sessions: Sessions) -> None:
        self._runtime = runtime
        self._protocol = protocol
        self._known = sessions.known

    async def answer(
        self,
        message: Message,
        headers: Headers,
        raw: RawHeaders,
        caller: Caller,
        toolset: str | None,
    ) -> bytes | None:
        """The answer to tools/call; None where it has to take the long way. Raises Wrong."""
        params = message.params
        name, arguments = params.get("name"), params.get("arguments")
        shelf = self._protocol.shelf_now(toolset)
        if shelf is None or type(name) is not str:
            return None
        shelved = shelf.tools.get(name)
        if shelved is None or not shelved.is_instant or not message.is_request:
            return None
        meta = params.get("_meta")
        id_ = headers.get(b"mcp-session-id")
        if meta is not None:
            if id_ is not None or not _is_modern(meta, headers, raw, name):
                return None
            era: eras.Era = "modern"
        else:
            session = None if id_ is None else self._known(id_, caller, toolset)
            if session is None or session.running or b"mcp-method" in headers:
                return None
            caller, era = session.named(caller), "handshake"
        call = self._runtime.call
        result = await call(shelved.entry.name, {} if arguments is None else arguments, caller)
        return _written(message.id, result, shelved, era)


def _is_modern(meta: Any, headers: Headers, raw: RawHeaders, name: str) -> bool:
    """Whether a request of the modern era says all that it has to, and nothing beside."""
    if type(meta) is not dict or "progressToken" in meta or eras.LOG_LEVEL_KEY in meta:
        return False
    return (
        len(headers) == len(raw)
        and meta.get(eras.VERSION_KEY) == eras.MODERN
        and type(meta.get(eras.CAPABILITIES_KEY)) is dict
        and headers.get(b"mcp-protocol-version") == _MODERN
        and headers.get(b"mcp-method") == _CALL
        and headers.get(b"mcp-name") == name.encode()
    )


def _written(id_: Any, result: ToolResult, shelved: Shelved, era: eras.Era) -> bytes:
    """The answer; by hand where it is plain data, which is nearly always. Raises Wrong."""
    data = result.data
    is_plain = type(data) is dict and not result.text and "type" not in data
    is_noted = bool(result.context) and "notes" in result.context
    is_usual = is_plain and not is_noted and result.status == "success" and not shelved.is_wrapped
    if not is_usual or (shelved.fit is not None and not shelved.fit(data)):
        return answer(id_, result_of(known(result, shelved), shelved, era))
    written = to_json(data)
    return b"".join(
        (
            _BEGIN,
            to_json(id_),
            _CONTENT,
            to_json(written.decode()),
            _DATA,
            written,
            _META,
            result.call_id.encode(),
            _ENDS[era],
        )
    )
