"""What a Python callable may ask of the call it serves.

A parameter annotated `toolrt.Context` is left out of the schema and filled in here.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolrt.core import client, logs
from toolrt.core.calls import Caller, Invocation
from toolrt.core.client import CLIENT, Capability, ClientLacksError, Elicited, Question, Sampled
from toolrt.core.redaction import redacted
from toolrt.core.unseen import harmless

_LOG = logs.TOOLS
_LONGEST_LINE = 64 * 1024


class Context:
    """The running call: who asked, how long is left, and ways to be heard.

    Made where the call is served; may be used in any thread.
    """

    __slots__ = ("_asked", "_client", "_invocation", "_loop", "_project")

    def __init__(self, invocation: Invocation, project: Path | None = None) -> None:
        self._invocation = invocation
        self._project = project or Path()
        self._loop = _running_loop()
        self._client = CLIENT.get()
        self._asked = 0

    @property
    def caller(self) -> Caller:
        return self._invocation.caller

    @property
    def call_id(self) -> str:
        return self._invocation.call_id

    @property
    def tool(self) -> str:
        """The tool's full name."""
        return self._invocation.tool

    @property
    def project(self) -> Path:
        """The project's folder."""
        return self._project

    @property
    def expected(self) -> str | None:
        """The version that the caller has seen of what this call changes, by the tool's
        `freshness`: compare it in the same step as you change it, and raise a `ToolError` of the
        code `conflict` where it is another. None where nobody told one.
        """
        sighting = self._invocation.sighting
        return sighting.expected if sighting is not None else None

    def saw(self, version: str) -> None:
        """Tell the version of what this call has read, or made: a text that is another one
        whenever the thing is. It counts once the call has gone well.
        """
        sighting = self._invocation.sighting
        if sighting is not None:
            sighting.told = str(version)

    @property
    def idempotency_key(self) -> str | None:
        """What the tool's `idempotency_key` made: the same for the same effect, and for all
        attempts. Hand it on to whoever does the work. None where the tool has none.
        """
        return self._invocation.idempotency_key

    @property
    def deadline_s(self) -> float:
        """Seconds until the whole call must have ended; never negative."""
        return max(0.0, self._invocation.remaining_s())

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Tell whoever waits how far the work is, secrets masked; nothing happens when nobody
        listens.
        """
        if self._invocation.on_progress is None or self._invocation.is_orphaned:
            return
        self._on_loop(self._tell, done, total, harmless(redacted(str(message))))

    def log(self, message: str, level: str = "info") -> None:
        """Write a line to the operator's log `toolrt.tools`, whatever characters it holds, secrets
        masked, at most 64 Ki characters; `level` is a name of the logging module. A client that
        listens to what its calls log hears it, too.
        """
        number = logging.getLevelNamesMapping().get(str(level).upper(), logging.INFO)
        if self._client is None and not _LOG.isEnabledFor(number):
            return
        details = {"call_id": self.call_id, "tool": self.tool}
        text = redacted(str(message))
        if len(text) > _LONGEST_LINE:
            text = f"{text[:_LONGEST_LINE]}…"
        if self._client is not None:
            self._on_loop(self._client.log, str(level).lower(), harmless(text), self.tool)
        if not _LOG.isEnabledFor(number):
            return
        line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
        _LOG.log(number, "%s [%s]: %s", self.tool, self.call_id, line, extra=details)

    def can_ask(self, for_: Capability) -> bool:
        """Whether the client of this call can be asked for `elicitation`, `sampling` or `roots`."""
        return self._client is not None and self._client.can(for_)

    async def elicit(
        self, message: str, fields: Mapping[str, Any], *, key: str | None = None
    ) -> Elicited:
        """Ask the person at the client to fill in a form: `fields` are JSON Schemas of texts,
        numbers, booleans or choices by name.

        Here and below, `key` names the question among those of the call. The wait counts towards
        the tool's timeout.

        Raises:
            ToolError: there is no client, it cannot be asked, or it gave no answer.
        """
        asked = client.form(self._key(key), harmless(redacted(str(message))), fields)
        return client.elicited(await self._ask(asked))

    async def sample(
        self,
        prompt: str | Sequence[Mapping[str, Any]],
        *,
        max_tokens: int = 1024,
        key: str | None = None,
        **more: Any,
    ) -> Sampled:
        """Ask the client's model: a text, or messages as MCP writes them. Raises as `elicit`."""
        asked = client.sample(self._key(key), prompt, max_tokens, more)
        return client.sampled(await self._ask(asked))

    async def roots(self, *, key: str | None = None) -> Sequence[Mapping[str, Any]]:
        """The folders that the client works in: `uri` and perhaps `name`. Raises as `elicit`."""
        answer = await self._ask(client.roots(self._key(key)))
        found: Sequence[Mapping[str, Any]] = answer["roots"]
        return found

    def _key(self, key: str | None) -> str:
        self._asked += 1
        return key or f"question-{self._asked}"

    async def _ask(self, question: Question) -> Mapping[str, Any]:
        if self._client is None or not self._client.can(question.capability):
            raise ClientLacksError(self.tool, question.capability)
        return await self._client.ask(question)

    def _on_loop(self, function: Any, *arguments: Any) -> None:
        if self._loop is None or _running_loop() is self._loop:
            function(*arguments)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    def _tell(self, done: float, total: float | None, message: str) -> None:
        listener = self._invocation.on_progress
        if listener is None or self._invocation.is_orphaned:
            return
        try:
            listener(done, total, message)
        except Exception as error:  # it is the host's own, and no failure of the tool
            if self._loop is None:
                raise
            told = {"message": "a listener of progress failed", "exception": error}
            self._loop.call_exception_handler(told)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
