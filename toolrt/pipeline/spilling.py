"""What was too long for a result, kept for its caller to read on.

It is kept redacted but otherwise as it came; what is read of it is made harmless again (O3).
Whoever made the call reads it, in the same tenant and session, and who may `admin`; for all others
there is none.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic_core import to_json

from toolrt.core.binaries import bytes_of, encoded, media_type_of
from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.core.logs import failed
from toolrt.core.redaction import Redactor
from toolrt.core.results import Shown, ToolResult
from toolrt.core.unseen import harmless
from toolrt.stores import spills
from toolrt.stores.approvals import new_id
from toolrt.stores.base import Database, Session, StoreError
from toolrt.stores.moments import Moments
from toolrt.stores.spills import Spill

TEXT, JSON = "text/plain", "application/json"
_LONGEST_CHARACTER = 4
_USUAL_LENGTH = 50_000
_NOT_KEPT = "the rest could not be kept"


@dataclass(frozen=True, slots=True)
class Oversize:
    """What does not fit into the result of a call, under the handle that the result names."""

    handle: str
    media_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Output:
    """A part of what was spilled, from `offset` of `size` bytes; the rest begins at `next_offset`,
    which is None at the end. Of what is no text there is only `content`.
    """

    handle: str
    call_id: str
    tool: str
    media_type: str
    size: int
    offset: int
    next_offset: int | None
    text: str | None
    content: bytes | None

    def document(self) -> dict[str, Any]:
        """JSON-ready mapping; bytes as base64."""
        made = {name: getattr(self, name) for name in self.__slots__}
        made["content"] = None if self.content is None else encoded(self.content)
        return made


def oversize_of(value: Any, data: Any) -> Oversize:
    """What is kept of data that are too long; `value` is what came back."""
    raw = bytes_of(value)
    if raw is not None and data == value:  # else there is a mask in it
        return Oversize(new_id(), media_type_of(value), raw)
    if isinstance(data, str):
        return Oversize(new_id(), TEXT, data.encode("utf-8", "replace"))
    return Oversize(new_id(), JSON, to_json(data))


def without_handle(result: ToolResult, handle: str) -> ToolResult:
    """The same result where what it names could not be kept."""

    def unnamed(data: Any) -> Any:
        is_named = isinstance(data, dict) and data.get("spilled") == handle
        return {**data, "spilled": None} if is_named else data

    shown = result.for_user
    notes = [*result.context.get("notes", ()), _NOT_KEPT]
    return result._replace(
        data=unnamed(result.data),
        for_user=shown and Shown(shown.text, unnamed(shown.data)),
        context={**result.context, "spilled": None, "notes": notes},
    )


class Spills:
    """The spills of one runtime."""

    def __init__(self, database: Database, moments: Moments, redactor: Redactor) -> None:
        self._database = database
        self._moments = moments
        self._redactor = redactor

    async def keep(self, call_id: str, tool: str, caller: Caller, oversize: Oversize) -> bool:
        """Whether it is kept now for `caller`; where not, the operator's log says why."""
        if len(oversize.body) > spills.MOST_BYTES:
            return False
        spill = Spill(
            id=oversize.handle,
            call_id=call_id,
            tool=tool,
            principal=caller.principal,
            tenant=caller.tenant,
            session=caller.session,
            media_type=oversize.media_type,
            bytes=len(oversize.body),
            created_wall=self._moments.now().wall,
        )
        try:
            await self._database.run(partial(spills.add, spill=spill, body=oversize.body))
        except StoreError as error:
            failed("the rest of a long result cannot be kept", error)
            return False
        return True

    async def read(
        self,
        handle: str,
        offset: int = 0,
        length: int = _USUAL_LENGTH,
        caller: Caller | None = None,
    ) -> Output:
        """A part of a spill, named by its handle or its call's id; offset and length are bytes.

        Texts begin and end with whole characters: read on at `next_offset`.

        Raises:
            RefusedError: there is no such spill for this caller, or no such part.
            StoreError: the store cannot be read.
        """
        if offset < 0 or length < 1:
            raise RefusedError("a part begins at 0 or later, and has 1 byte or more", code=_INVALID)

        def work(session: Session) -> tuple[Spill, bytes] | None:
            found = spills.find(session, handle, self._moments.now().wall)
            if found is None or not _may_read(found, caller or Caller()):
                return None
            end = offset + max(length, _LONGEST_CHARACTER) + _LONGEST_CHARACTER
            return found, spills.read(session, found, offset, end)

        read = await self._database.read(work)
        if read is None:
            hint = "outputs are kept for seven days, for whoever made the call"
            raise RefusedError("there is no such output", code="not-found", hint=hint)
        return self._output(*read, offset, length)

    def _output(self, spill: Spill, body: bytes, offset: int, length: int) -> Output:
        is_text = spill.media_type in {TEXT, JSON}
        part, skipped = _whole(body, length) if is_text else (body[:length], 0)
        text = part.decode("utf-8", "replace") if is_text else None
        end = offset + skipped + len(part)
        return Output(
            spill.id,
            spill.call_id,
            spill.tool,
            spill.media_type,
            spill.bytes,
            offset + skipped,
            end if end < spill.bytes else None,
            None if text is None else harmless(self._redactor.excerpt(text)),
            part if text is None else None,
        )


_INVALID = "invalid-arguments"


def _may_read(spill: Spill, caller: Caller) -> bool:
    owner = (spill.principal, spill.tenant, spill.session)
    return "admin" in caller.may or owner == (caller.principal, caller.tenant, caller.session)


def _whole(body: bytes, length: int) -> tuple[bytes, int]:
    """The whole characters that begin within `length` bytes, and how many bytes are before them."""
    start = next((at for at, byte in enumerate(body[:_LONGEST_CHARACTER]) if _begins(byte)), 0)
    end = max(length, start + 1)
    while end < len(body) and not _begins(body[end]):
        end += 1
    return body[start:end], start


def _begins(byte: int) -> bool:
    return byte & 0xC0 != 0x80  # noqa: PLR2004 - the inside of a character
