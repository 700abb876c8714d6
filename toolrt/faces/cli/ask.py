"""`toolrt ask`: a question to the project's model, which calls tools until it answers."""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from toolrt.core.errors import CallError, ProjectError
from toolrt.core.results import Failure, Pause, ToolResult
from toolrt.faces.cli import loop
from toolrt.faces.cli.caller import Guise, as_option, at_terminal, caller_of
from toolrt.faces.cli.names import compiled
from toolrt.faces.cli.options import Misuse, Settings, Verb
from toolrt.faces.cli.table import count
from toolrt.faces.cli.told import explain, pause_lines
from toolrt.faces.exits import Exit, of_code
from toolrt.faces.output import one_line, visible

if TYPE_CHECKING:
    from toolrt.agent.conversation import Reply
    from toolrt.core.calls import Caller
    from toolrt.opened import Runtime

EXAMPLES = (
    ("toolrt ask 'which invoices are open?'", "the model calls tools, then answers"),
    ("toolrt ask --resume ask-4b1fd2", "go on once somebody has decided"),
    ("toolrt ask --resume ask-4b1fd2 'and of last year?'", "ask more"),
)


@click.command("ask", cls=Verb, examples=EXAMPLES)
@click.argument("words", nargs=-1, metavar="[QUESTION]...")
@click.option("--resume", "id_", metavar="ID", help="Go on with a conversation.")
@as_option("Ask")
@click.pass_obj
def verb(settings: Settings, *, words: tuple[str, ...], id_: str | None, as_: Guise | None) -> Exit:
    """Ask the model that `agent` in toolrt.yaml names. It calls tools, by the same rules as
    anybody, until it answers. Ends with 6 where a call waits for a person, and with 8 where it came
    to no answer in as many turns as it may take.
    """
    question = " ".join(words).strip() or None
    if question is None and id_ is None:
        raise Misuse("what is the question?", hint="write it, or --resume ID")
    return loop.run(_Asking(settings, question, id_, as_).answered)


@dataclass(slots=True)
class _Asking:
    """One question, or one conversation that goes on; `pauses` are of the calls that wait."""

    settings: Settings
    question: str | None
    id: str | None
    guise: Guise | None
    pauses: list[Pause] = field(default_factory=list)

    async def answered(self) -> Exit:
        from toolrt import runtime  # noqa: PLC0415 - `--help` loads no runtime
        from toolrt.stores.base import StoreError  # noqa: PLC0415 - as above

        try:
            async with runtime.open(self.settings.project()) as opened:
                caller = caller_of(opened.snapshot, self.guise, self.settings)
                reply = await self._reply(opened, caller)
                return self._shown(reply, at_terminal(opened.snapshot.identities))
        except ProjectError:
            compiled(self.settings)  # ends the verb with all that is wrong
            raise
        except CallError as error:
            return self._failed(Failure.of(error))
        except StoreError as error:
            return self._failed(Failure("unavailable", error.message, error.hint))
        except asyncio.CancelledError:
            self._tell_how_to_go_on()
            raise

    async def _reply(self, opened: "Runtime", caller: "Caller") -> "Reply":
        agent = opened.agent
        if self.id is None:
            question = self.question or ""
            return await agent.ask(question, caller, on_call=self._called, on_begin=self._begun)
        return await agent.resume(self.id, caller, question=self.question, on_call=self._called)

    def _begun(self, id_: str) -> None:
        self.id = id_

    def _tell_how_to_go_on(self) -> None:
        if self.id is not None:
            self.settings.screen.say(f"then: {self.settings.command(f'ask --resume {self.id}')}")

    def _called(self, result: ToolResult) -> None:
        """Tell of a call as it ends."""
        if result.pause is not None:
            self.pauses.append(result.pause)
        why = f": {one_line(result.error.message)}" if result.error else ""
        self.settings.screen.say(f"{result.tool}  {result.status}{why}")

    def _shown(self, reply: "Reply", me: "Caller") -> Exit:
        screen = self.settings.screen
        screen.show(reply.document(), lambda: visible(reply.text))
        if reply.error is not None:
            ended = self._failed(reply.error)
            self._tell_how_to_go_on()
            return ended
        if reply.status == "answered":
            return Exit.OK
        resume = self.settings.command(f"ask --resume {reply.id}")
        if reply.status == "paused":
            if screen.format == "text":
                for pause in self.pauses:
                    screen.complain("\n".join(pause_lines(self.settings, pause, me)))
            self._tell_how_to_go_on()
            return Exit.PAUSED
        turns = count(reply.iterations, "turn")
        screen.say(f"no answer after {turns}; {resume} lets it take as many again")
        return Exit.LIMITED

    def _failed(self, failure: Failure) -> Exit:
        explain(self.settings, "agent.model", failure, next_="doctor")
        return of_code(failure.code)
