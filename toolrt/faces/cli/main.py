"""The command `toolrt`: the table of verbs, and the last line of defence around them.

Expected ends say what is wrong and what to try; a bug writes a report and says where; an
interruption is silent. Verbs load when they are used, so that `--help` is as quick as click.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from toolrt import __version__
from toolrt.core.errors import CallError, ProjectError
from toolrt.faces.cli.hard_exit import refuse_hard_exits
from toolrt.faces.cli.options import (
    Verb,
    global_options,
    unknown_verb,
    write_examples,
    write_options,
)
from toolrt.faces.exits import Exit, Stop, of_code
from toolrt.faces.streams import take_streams

VERBS: Mapping[str, tuple[str, str]] = {
    "init": ("toolrt.faces.cli.init", "Write a project that works."),
    "check": ("toolrt.faces.cli.check", "Find every fault of every file."),
    "list": ("toolrt.faces.cli.list", "List the tools and how they are called."),
    "show": ("toolrt.faces.cli.show", "Show one tool in full."),
    "instructions": ("toolrt.faces.cli.instructions", "Print what a model is told of the tools."),
    "run": ("toolrt.faces.cli.run", "Call one tool."),
    "serve": ("toolrt.faces.cli.serve", "Serve the tools to agents: MCP and REST."),
    "reload": ("toolrt.faces.cli.reload", "Ask a running server to reload."),
    "ask": ("toolrt.faces.cli.ask", "Ask a model, which calls tools until it answers."),
    "search": ("toolrt.faces.cli.search", "Find the tools that serve an intent."),
    "explain": ("toolrt.faces.cli.explain", "Say who decides about a call, and why."),
    "test": ("toolrt.faces.cli.test", "Run the tests of tools and rules."),
    "approvals": ("toolrt.faces.cli.approvals", "Look at calls that wait for a person; decide."),
    "breakers": ("toolrt.faces.cli.breakers", "Look at what kept failing; close breakers."),
    "pins": ("toolrt.faces.cli.pins", "Look at tools of MCP servers; approve what has changed."),
    "history": ("toolrt.faces.cli.history", "Look at what was called, and what came of it."),
    "import": ("toolrt.faces.cli.importing", "Write tools from what is described elsewhere."),
    "schema": ("toolrt.faces.cli.schema", "Print the JSON Schema of the files, for editors."),
    "doctor": ("toolrt.faces.cli.doctor", "Say what works on this machine."),
    "completion": ("toolrt.faces.cli.completion", "Print the completion script of a shell."),
}
"""Verb -> its module, and one line of help. A new verb is one file and one line here."""

_COMPLETE = "_TOOLRT_COMPLETE"

EXAMPLES = (
    ("toolrt init demo", "a new project"),
    ("toolrt check", "what is wrong with it"),
    ("toolrt run text.count_words text='a few words'", "call a tool"),
)


class Toolrt(click.Group):
    """The group of verbs; its `main` ends with the exit status and never with a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> Verb | None:
        del ctx
        if cmd_name not in VERBS:
            return None
        verb: Verb = import_module(VERBS[cmd_name][0]).verb
        return verb

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in VERBS and not ctx.resilient_parsing:
            raise unknown_verb(args[0], VERBS)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        write_examples(EXAMPLES, formatter)
        self.format_help_text(ctx, formatter)
        with formatter.section("Verbs"):
            formatter.write_dl([(name, text) for name, (_, text) in VERBS.items()])
        write_options("Options", self.get_params(ctx), ctx, formatter)

    def main(self, args: Sequence[str] | None = None, **more: Any) -> NoReturn:  # type: ignore[override]  # it always ends
        sys.exit(self.status(list(sys.argv[1:] if args is None else args), **more))

    def status(self, args: list[str], **more: Any) -> int:
        """Does what `args` say and gives the exit status."""
        more = {"prog_name": "toolrt", **more, "standalone_mode": False}
        return ending(lambda: super(Toolrt, self).main(args, **more), args)


cli = Toolrt(
    "toolrt",
    help="Tools in YAML, one pipeline around every call. `toolrt VERB --help` says more.",
    params=global_options(),
    context_settings={"help_option_names": ["-h", "--help"]},
    subcommand_metavar="VERB [ARGUMENTS]",
    no_args_is_help=True,
)
click.version_option(__version__, prog_name="toolrt", message="%(prog)s %(version)s")(cli)


def run() -> NoReturn:
    """The entry point of the command."""
    data = take_streams()
    refuse_hard_exits()
    args = sys.argv[1:]
    wanted = os.environ.get(_COMPLETE)
    status = ending(lambda: _complete(wanted), args) if wanted else cli.status(args)
    said, sys.stdout = sys.stdout, sys.stderr  # what still runs has only talk
    said.flush()
    if data.lost is not None:
        lost = _tell(_unwritten(data.lost), args)
        status = status or lost
    sys.exit(status)


def _complete(wanted: str) -> int:
    """What a shell asks for while its user types."""
    from click.shell_completion import shell_complete  # noqa: PLC0415 - only shells ask

    return shell_complete(cli, {}, "toolrt", _COMPLETE, wanted)


def _unwritten(error: OSError) -> Stop:
    message = f"cannot write the output: {error.strerror}"
    return Stop(Exit.TOOL_FAILED, message, code="output", next_="toolrt doctor")


def ending(work: Callable[[], Any], args: Sequence[str]) -> int:
    """What `work` returned as a status, or what became of it."""
    try:
        return int(work() or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        return _say(error.format_message(), Exit.USAGE)
    except click.ClickException as error:
        return _tell(_refused(error), args)
    except Stop as stop:
        return _tell(stop, args)
    except ProjectError as error:
        return _tell(_invalid(error), args)
    except CallError as error:
        return _tell(_failed(error), args)
    except (click.Abort, KeyboardInterrupt):
        return _say("interrupted", Exit.INTERRUPTED)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the last ring: a bug ends in a report
        return _tell(_bug(error, args), args)


def _tell(stop: Stop, args: Sequence[str]) -> int:
    from toolrt.faces.cli.endings import tell  # noqa: PLC0415 - only for mistakes

    return tell(stop, args)


def _refused(error: click.ClickException) -> Stop:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "toolrt"
    message = error.format_message().rstrip(". ")
    message = message[:1].lower() + message[1:]
    hint = getattr(error, "hint", None)
    return Stop(Exit.USAGE, message, code="usage", hint=hint, next_=f"{path} --help")


def _invalid(error: ProjectError) -> Stop:
    message = error.message.partition("\n")[0]
    report = error.report.rstrip("\n")
    code = "manifests-invalid" if report else "project"
    return Stop(Exit.MANIFESTS_INVALID, message, code=code, next_="toolrt check", report=report)


def _failed(error: CallError) -> Stop:
    status = of_code(error.code)
    return Stop(status, error.message, code=error.code, hint=error.hint, next_="toolrt check")


def _bug(error: BaseException, args: Sequence[str]) -> Stop:
    from toolrt.faces.cli.bugs import show_trace  # noqa: PLC0415 - only for bugs
    from toolrt.faces.cli.endings import reported  # noqa: PLC0415 - as above

    report = reported(error, args)
    if {"-v", "--verbose"} & set(args):
        show_trace(error)
    message = f"this is a bug of toolrt ({type(error).__name__}); {report}"
    return Stop(Exit.BUG, message, code="internal", next_="toolrt doctor")


def _say(text: str, status: Exit) -> int:
    sys.stderr.write(text + "\n")
    return status
