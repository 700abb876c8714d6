"""`toolrt run --watch`: the same call again after each reload, until somebody ends it.

HUP asks for a reload, as it does of a server; what was refused is told, and the last good
generation stays.
"""

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolrt.faces.cli.options import Misuse
from toolrt.faces.exits import Exit
from toolrt.faces.output import one_line, visible

if TYPE_CHECKING:
    from toolrt.faces.cli.options import Settings
    from toolrt.opened import Runtime
    from toolrt.reloading.outcome import Reload


@dataclass(frozen=True, slots=True)
class Opening:
    """How the project of a call is opened."""

    watch: bool = False
    allow_foreign_config: bool = False
    attended: bool = False

    def opened(self, project: Path) -> AbstractAsyncContextManager["Runtime"]:
        """The project, open for calls. Raises ProjectError."""
        from toolrt import runtime  # noqa: PLC0415 - `--help` loads no runtime

        return runtime.open(
            project,
            watch=self.watch,
            allow_foreign_config=self.allow_foreign_config,
            attended=self.attended,
        )


def refuse_stdin(arguments: Sequence[str]) -> None:
    """Arguments that can be read only once are none for several calls. Raises Misuse."""
    if "-" in arguments:
        raise Misuse("stdin can be read only once, and `--watch` calls again", hint="write @file")


async def repeated(
    opened: "Runtime", call: Callable[[], Awaitable[Exit]], settings: "Settings"
) -> Exit:
    """Make the call, and again after each new generation. Ends only by being cancelled."""
    from toolrt.faces.cli.findings import tell_weak  # noqa: PLC0415 - only calls that stay need it

    outcomes: asyncio.Queue[Reload] = asyncio.Queue()
    told = tell_weak(opened, settings)
    stop = opened.on_reload(outcomes.put_nowait)
    try:
        with _reloading_on_hangup(opened):
            await call()
            while True:
                outcome = await outcomes.get()
                tell_reload(outcome, settings)
                if outcome.is_new:
                    told = tell_weak(opened, settings, told)
                    await call()
    finally:
        stop()


def tell_reload(outcome: "Reload", settings: "Settings") -> None:
    """What a reload came to, on stderr."""
    screen = settings.screen
    if outcome.is_accepted:
        screen.say(_accepted(outcome))
    else:
        _tell_refusal(outcome, settings)
    if outcome.needs_restart:
        keys = ", ".join(f"`{key}`" for key in outcome.needs_restart)
        screen.say(f"warning: {keys} of toolrt.yaml count only after a new start")


def _accepted(outcome: "Reload") -> str:
    if outcome.is_new:
        return f"reloaded: {visible(outcome.changes.text) or 'nothing that shows'}"
    if outcome.is_mended:
        number = outcome.generation
        return f"sound again: the files are those of generation {number}, which is in force"
    return "reloaded: nothing has changed"


def _tell_refusal(outcome: "Reload", settings: "Settings") -> None:
    screen = settings.screen
    label = screen.paint("not reloaded:", on_stderr=True, fg="red", bold=True)
    lines = [outcome.report.rstrip("\n")] if outcome.report else []
    lines.append(f"{label} {one_line(outcome.why or '')}; generation {outcome.generation} stays")
    if outcome.changes:
        lines.append(f"would be: {visible(outcome.changes.text)}")
    if outcome.losses:
        lines.append("hint: left as it is for 10 s it is taken as meant")
    elif outcome.hint:
        lines.append(f"hint: {one_line(outcome.hint)}")
    screen.complain("\n".join(lines))


@contextmanager
def _reloading_on_hangup(opened: "Runtime") -> Iterator[None]:
    """HUP reloads instead of ending the process; where it is ignored, it stays so."""
    before = signal.getsignal(signal.SIGHUP)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or before is signal.SIG_IGN:
        yield
        return
    loop = asyncio.get_running_loop()
    running: set[asyncio.Task[Reload]] = set()

    def on_hangup() -> None:
        task = asyncio.create_task(opened.reload("hangup"))
        running.add(task)
        task.add_done_callback(running.discard)

    loop.add_signal_handler(signal.SIGHUP, on_hangup)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        signal.signal(signal.SIGHUP, before)
