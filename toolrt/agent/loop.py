"""The loop: ask the model, make the calls that it wants, tell it what they came to, until it
answers.

Every call goes through the one door, so what rules refuse or people are asked is the same as
anywhere. A call that waits for a person ends the loop; it goes on from there, also in another
process. What was begun and never heard of again is not made a second time.
"""

import asyncio
import math
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import Any, Final

from toolrt.agent.conversation import Conversation, OnCall, Reply, Talk
from toolrt.agent.turns import Turns
from toolrt.catalog.asked_model import NAME as MODEL
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import Clock
from toolrt.core.errors import RefusedError
from toolrt.core.results import Failure, ToolResult
from toolrt.dialects.base import ParseError
from toolrt.dialects.wires import WIRES, Prompt
from toolrt.manifest.project import Agent as Options
from toolrt.pipeline.searching import Search
from toolrt.schemas.plain import without_surrogates
from toolrt.stores.base import StoreError
from toolrt.stores.conversations import LEASE_S, KeptConversations, State

_FAILED_TURNS: Final = 2
"""After so many turns in a row without one success, the model is told to plan anew."""
_ALTERNATIVES: Final = 3
_UNUSABLE: Final = 3
"""After so many answers in a row that cannot be used, the model is not asked again."""
_IS_ASKED: ContextVar[bool] = ContextVar("toolrt_is_asked", default=False)
"""Whether a call is one that the model of the project wants."""


class Loop:
    """The conversations of one runtime with the model of its project."""

    def __init__(
        self,
        turns: Turns,
        search: Callable[[], Search],
        kept: KeptConversations,
        options: Callable[[], Options | None],
        clock: Clock,
    ) -> None:
        self._gateway = turns.gateway
        self._turns = turns
        self._search = search
        self._kept = kept
        self._options = options
        self._clock = clock

    async def ask(
        self,
        question: str,
        caller: Caller | None = None,
        *,
        on_call: OnCall | None = None,
        on_begin: Callable[[str], object] | None = None,
    ) -> Reply:
        """Ask the model, and have it call tools on behalf of `caller` until it answers; `on_begin`
        hears the id of the conversation.

        Raises:
            RefusedError: the project has no model.
            StoreError: the conversation cannot be kept.
        """
        dialect, question = self._model().dialect, without_surrogates(question)
        conversation = Conversation(f"ask-{secrets.token_hex(6)}", question, dialect)
        conversation.messages.append(WIRES[dialect].user(question))
        if on_begin is not None:
            on_begin(conversation.id)
        return await self._on(Talk(conversation, caller or Caller(), on_call=on_call))

    async def resume(
        self,
        id_: str,
        caller: Caller | None = None,
        *,
        question: str | None = None,
        on_call: OnCall | None = None,
    ) -> Reply:
        """Go on with a conversation of this caller: where it waits for people, or with another
        question.

        Raises:
            RefusedError: there is none of that id, somebody goes on with it right now, or it was
                with a model of another dialect.
            StoreError: as `ask`.
        """
        self._model()
        caller, owner, id_ = caller or Caller(), secrets.token_hex(8), without_surrogates(id_)
        kept = await self._kept.find(id_)
        if kept is None or (kept.principal, kept.tenant) != (caller.principal, caller.tenant or ""):
            hint = "ids are those that `toolrt ask` told; they are kept for 30 days"
            message = f"there is no conversation `{id_[:100]}`"
            raise RefusedError(message, code="not-found", hint=hint)
        kept = await self._kept.take(id_, owner)
        if kept is None:
            message = "somebody goes on with this conversation right now"
            raise RefusedError(message, code="conflict", hint="try again in a moment")
        talk = Talk(Conversation.read(id_, kept.body), caller, owner, on_call)
        if question is None and kept.state == "answered":
            await self._keep(talk, "answered", is_over=True)
            return self._reply(talk, "answered", talk.conversation.text)
        try:
            self._begin_again(talk.conversation, question)
        except RefusedError:
            await self._keep(talk, kept.state, is_over=True)
            raise
        return await self._on(talk)

    async def done(
        self, invocation: Invocation, task: str | None, id_: str | None
    ) -> dict[str, Any]:
        """What the tool `do` gives: the answer, or what it waits for. Raises CallError."""
        if _IS_ASKED.get():
            message = f"`{invocation.tool}` asks the model, which cannot ask itself"
            raise RefusedError(
                message, code="unsupported", hint="do the task, or say what is missing"
            )
        caller = invocation.caller
        try:
            if id_ is None:
                reply = await self.ask(task or "", caller)
            else:
                reply = await self.resume(id_, caller, question=task)
        except StoreError as error:
            message = "what is said cannot be kept now"
            raise RefusedError(message, code="unavailable", hint="tell the operator") from error
        if (failure := reply.error) is not None:
            raise RefusedError(failure.message, code=failure.code, hint=failure.hint)
        waits = {"waits_for": list(reply.waits_for)} if reply.waits_for else {}
        return {"status": reply.status, "text": reply.text, "conversation": reply.id, **waits}

    def _begin_again(self, conversation: Conversation, question: str | None) -> None:
        """Let a conversation go on. Raises RefusedError where it cannot, or not with a question."""
        dialect = self._model().dialect
        if conversation.dialect != dialect:
            message = f"this conversation is in the words of {conversation.dialect}, not {dialect}"
            hint = "ask anew, or let `agent.model` have the dialect of before"
            raise RefusedError(message, code="conflict", hint=hint)
        if not conversation.slots:
            conversation.iterations = 0
        if question is None:
            return
        if conversation.slots:
            message = "this conversation waits for people, and cannot be asked more"
            hint = "decide about its approvals, then resume it without a question"
            raise RefusedError(message, code="conflict", hint=hint)
        conversation.question, conversation.failures = without_surrogates(question), 0
        conversation.messages.append(WIRES[dialect].user(conversation.question))

    def _model(self) -> Any:
        options = self._options()
        if options is None or options.model is None:
            hint = "`agent: {model: {dialect, name, target}}` of toolrt.yaml names one"
            raise RefusedError("the project has no model", code="unsupported", hint=hint)
        return options.model

    async def _on(self, talk: Talk) -> Reply:
        """Go on until there is a reply, and keep the conversation as it stands then."""
        async with self._alive(talk):
            await self._keep(talk, "running")
            above = _IS_ASKED.set(True)
            try:
                reply = await self._replied(talk)
            except BaseException:
                with suppress(StoreError):
                    await self._kept.keep(talk.kept("failed"), talk.owner, is_over=True)
                raise
            finally:
                _IS_ASKED.reset(above)
            talk.conversation.text = reply.text
            await self._keep(talk, reply.status, is_over=True)
        return reply

    async def _replied(self, talk: Talk) -> Reply:
        conversation, options = talk.conversation, self._options() or Options()
        wire = WIRES[conversation.dialect]
        while conversation.slots or conversation.iterations < options.max_iterations:
            if not conversation.slots:
                ended = await self._asked(talk, options)
                if ended is not None:
                    return ended
                if not conversation.slots:
                    continue  # it was told what was wrong with its answer, or is not at its end
                await self._keep(talk, "running")
            await self._turns.made(conversation, talk.caller, talk.on_call)
            waiting = dict.fromkeys(slot.approval or "" for slot in conversation.waiting())
            if waiting:
                text = wire.text(conversation.answer)
                return self._reply(talk, "paused", text, waits_for=tuple(waiting))
            ends = (slot.ends for slot in conversation.slots if slot.ends is not None)
            final = next(ends, None)
            self._told(conversation)
            if final is not None:
                return self._reply(talk, "answered", final)
            await self._plan_anew(conversation, talk.caller)
            await self._keep(talk, "running")
        return self._reply(talk, "limit")

    async def _asked(self, talk: Talk, options: Options) -> Reply | None:
        """Ask the model; its answer and its calls are in the conversation then. A reply where the
        conversation ends there, or waits.
        """
        conversation, model = talk.conversation, self._model()
        conversation.iterations += 1
        among = await self._tools(conversation, talk.caller, options.candidates)
        instructions = options.instructions
        tools = await self._turns.tools(conversation, talk.caller, among, instructions)
        prompt = Prompt(
            model.name,
            tools.instructions,
            conversation.messages,
            tools.export.documents,
            model.max_tokens,
            tools.export.hosted,
        )
        result = await self._answer(talk, prompt)
        if result.error is not None:
            return self._reply(talk, "failed", error=result.error)
        if result.pause is not None:  # a rule asks people about the model itself
            conversation.iterations -= 1
            if talk.on_call is not None:
                talk.on_call(result)
            return self._reply(talk, "paused", waits_for=(result.pause.approval_id,))
        return self._heard(talk, result.data)

    def _heard(self, talk: Talk, response: Any) -> Reply | None:
        """Take an answer into the conversation; else as `_asked`."""
        conversation, wire = talk.conversation, WIRES[talk.conversation.dialect]
        try:
            self._turns.wanted(conversation, talk.caller, response)
        except ParseError as error:
            return self._unusable(talk, error.message)
        said, text, goes_on = wire.said(response), wire.text(response), wire.goes_on(response)
        has_calls = bool(conversation.slots)
        if not said or not (has_calls or goes_on or text.strip()):
            conversation.answer, conversation.slots = None, []
            return self._unusable(talk, "it has neither words nor calls")
        conversation.messages += said
        conversation.unusable = 0
        if has_calls:
            return None
        conversation.answer = None
        return None if goes_on else self._reply(talk, "answered", text)

    def _unusable(self, talk: Talk, why: str) -> Reply | None:
        """Tell the model what is wrong with its answer; the end where it goes on like that."""
        conversation = talk.conversation
        said = f"Your last answer cannot be used: {why}. Answer in words, or call a tool."
        conversation.messages.append(WIRES[conversation.dialect].user(said))
        conversation.unusable += 1
        if conversation.unusable < _UNUSABLE:
            return None
        conversation.unusable = 0
        message = f"{_UNUSABLE} answers of the model in a row cannot be used: {why}"
        hint = "look whether `agent.model` has the dialect of its target"
        return self._reply(talk, "failed", error=Failure("bad-response", message, hint))

    async def _answer(self, talk: Talk, prompt: Prompt) -> ToolResult:
        now, wire = self._clock.monotonic(), WIRES[talk.conversation.dialect]
        above = Invocation(talk.conversation.id, "ask", {}, talk.caller, self._clock, now, math.inf)
        return await self._gateway.nested(above, MODEL, {"body": wire.body(prompt)})

    async def _tools(
        self, conversation: Conversation, caller: Caller, k: int | None
    ) -> frozenset[str] | None:
        """The names of the tools that serve the question, and of those that it used already; None
        for all.
        """
        if k is None:
            return None
        found = await self._search()(conversation.question, caller, k=k)
        return frozenset((*(each.entry.name for each in found), *conversation.used))

    def _told(self, conversation: Conversation) -> None:
        """Let the model hear what its calls came to."""
        wire, slots = WIRES[conversation.dialect], conversation.slots
        conversation.messages += wire.joined([each for slot in slots for each in slot.messages])
        is_failed = all(slot.status == "error" for slot in slots)
        conversation.failures = conversation.failures + 1 if is_failed else 0
        conversation.used += [slot.tool for slot in slots if slot.tool not in conversation.used]
        conversation.slots, conversation.answer = [], None

    async def _plan_anew(self, conversation: Conversation, caller: Caller) -> None:
        """Tell a model that gets nowhere so, and what else there is (R48)."""
        if conversation.failures < _FAILED_TURNS:
            return
        conversation.failures = 0
        found = await self._search()(conversation.question, caller, k=_ALTERNATIVES * 2)
        others = [each.entry.name for each in found if each.entry.name not in conversation.used]
        names = self._turns.names(conversation, caller)
        said = "All calls of your last answers failed. Do not repeat them as they are: plan anew."
        if others:
            listed = ", ".join(names.wire(name) for name in others[:_ALTERNATIVES])
            said += f" Other tools that may serve: {listed}."
        said += " If nothing does, say what is missing."
        conversation.messages.append(WIRES[conversation.dialect].user(said))

    @asynccontextmanager
    async def _alive(self, talk: Talk) -> AsyncIterator[None]:
        """Give signs of life while the conversation goes on."""

        async def beat() -> None:
            while True:
                await asyncio.sleep(LEASE_S / 3)
                with suppress(StoreError):
                    await self._kept.renew(talk.conversation.id, talk.owner)

        task = asyncio.create_task(beat())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def _keep(self, talk: Talk, state: State, *, is_over: bool = False) -> None:
        """Raises RefusedError where somebody else has it by now, and StoreError."""
        if not await self._kept.keep(talk.kept(state), talk.owner, is_over=is_over):
            message = "somebody else goes on with this conversation"
            raise RefusedError(message, code="conflict", hint="this process was too slow")

    def _reply(self, talk: Talk, status: Any, text: str = "", **more: Any) -> Reply:
        conversation = talk.conversation
        return Reply(conversation.id, status, text, conversation.iterations, **more)
