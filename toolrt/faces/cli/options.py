"""Options that every verb takes, before or after it and its arguments, and what a verb is made of.

Each verb's module has one `verb`: a `Verb`, whose function gets the `Settings` first.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolrt.core.errors import ProjectError
from toolrt.faces.exits import Exit, Stop

if TYPE_CHECKING:
    from toolrt.faces.output import Screen

Examples = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Settings:
    """What the options common to all verbs came to."""

    project_option: str | None
    screen: "Screen"

    def project(self) -> Path:
        """The folder of the project: the one that was named, else the nearest above us."""
        from toolrt.runtime import find_project  # noqa: PLC0415 - `--help` loads no runtime

        named = self.project_option
        if named and not _is_folder(named):
            raise _no_project(f"there is no folder {named}", named)
        try:
            found = find_project(Path(named or "."))
        except ProjectError as error:
            raise _no_project(error.message, named) from error
        if named and found != Path(named).resolve():
            raise _no_project(f"{named} is not a toolrt project", named)
        return found

    def command(self, rest: str) -> str:
        """A command line to suggest, for the same project."""
        if not self.project_option:
            return f"toolrt {rest}"
        import shlex  # noqa: PLC0415 - only for suggestions

        return f"toolrt -p {shlex.quote(self.project_option)} {rest}"


def _is_folder(named: str) -> bool:
    try:
        return Path(named).is_dir()
    except OSError:  # a name that is too long, or a folder above that is closed
        return False


def global_options() -> list[click.Option]:
    """The options of every verb; click wants each command to have its own."""
    return [
        click.Option(
            ["-p", "--project"],
            metavar="PATH",
            help="The project's folder.  [env: TOOLRT_PROJECT; default: the nearest one upwards]",
        ),
        click.Option(
            ["-o", "--output"],
            type=click.Choice(["text", "json", "jsonl", "yaml"]),
            help="How data is shown.  [default: text]",
        ),
        click.Option(
            ["--color"],
            type=click.Choice(["auto", "always", "never"]),
            help="Colour; NO_COLOR is obeyed.  [default: auto]",
        ),
        click.Option(["-q", "--quiet"], is_flag=True, help="Only data and errors."),
        click.Option(["-v", "--verbose"], is_flag=True, help="Say more on stderr."),
    ]


_GLOBAL_NAMES = ("project", "output", "color", "quiet", "verbose")


class Verb(click.Command):
    """A verb: its own options and everybody's; its help begins with examples."""

    def __init__(self, *args: Any, examples: Examples = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.examples = examples
        self.own = len(self.params)
        self.params.extend(global_options())

    def invoke(self, ctx: click.Context) -> Any:
        ctx.obj = settings_of(ctx)
        with redirect_stdout(sys.stderr):  # what tools print is talk; data goes by the screen
            return super().invoke(ctx)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        write_examples(self.examples, formatter)
        self.format_help_text(ctx, formatter)
        help_option = self.get_help_option(ctx)
        own = [*self.params[: self.own], *([help_option] if help_option else [])]
        write_options("Options", own, ctx, formatter)
        write_options("Options of every verb", self.params[self.own :], ctx, formatter)


class Verbs(Verb, click.Group):
    """A verb that has verbs of its own. `actions` is their table, as `main.VERBS` is that of all:
    each loads from its module when it is used, and is called there as it is in the table.
    """

    def __init__(
        self, *args: Any, actions: Mapping[str, tuple[str, str, str]], **more: Any
    ) -> None:
        """`actions`: name -> its module, what it is called there, one line of help."""
        super().__init__(*args, **more)
        self.actions = actions

    def invoke(self, ctx: click.Context) -> Any:
        return click.Group.invoke(self, ctx)  # the verb inside takes the common options

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self.actions)

    def get_command(self, ctx: click.Context, cmd_name: str) -> Verb | None:
        del ctx
        if cmd_name not in self.actions:
            return None
        module, name, _ = self.actions[cmd_name]
        verb: Verb = getattr(import_module(module), name)
        return verb

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.actions and not ctx.resilient_parsing:
            raise unknown_verb(args[0], self.actions, ctx)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        write_examples(self.examples, formatter)
        self.format_help_text(ctx, formatter)
        with formatter.section("Verbs"):
            formatter.write_dl([(name, text) for name, (*_, text) in self.actions.items()])
        write_options("Options of every verb", self.params[self.own :], ctx, formatter)


def settings_of(ctx: click.Context) -> Settings:
    """Takes the common options off the verb, then off what stands before it."""
    from toolrt.faces.output import Screen  # noqa: PLC0415 - `--help` shows without it

    given = {name: ctx.params.pop(name, None) for name in _GLOBAL_NAMES}
    before = ctx.parent
    while before is not None:
        given = {name: given[name] or before.params.get(name) for name in _GLOBAL_NAMES}
        before = before.parent
    screen = Screen(
        format=given["output"] or "text",
        color=given["color"] or "auto",
        is_quiet=bool(given["quiet"]),
        is_verbose=bool(given["verbose"]),
    )
    return Settings(given["project"] or os.environ.get("TOOLRT_PROJECT") or None, screen)


class Misuse(click.UsageError):
    """Wrong usage, and what to write instead."""

    def __init__(self, message: str, *, hint: str | None) -> None:
        super().__init__(message)
        self.hint = hint


def unknown_verb(name: str, verbs: Mapping[str, Any], ctx: click.Context | None = None) -> Misuse:
    """Wrong usage: no such verb, and the nearest one."""
    from toolrt.core.names import nearest  # noqa: PLC0415 - difflib, only for mistakes

    close = nearest(name, verbs, cutoff=0.6)  # `rnu` shares two letters of three with `run`
    misuse = Misuse(
        f"there is no verb `{name}`", hint=f"did you mean `{close}`?" if close else None
    )
    misuse.ctx = ctx
    return misuse


def write_examples(examples: Examples, formatter: click.HelpFormatter) -> None:
    """The section that each help begins with."""
    with formatter.section("Examples"):
        formatter.write_dl(list(examples), col_max=52)


def write_options(
    title: str,
    params: Sequence[click.Parameter],
    ctx: click.Context,
    formatter: click.HelpFormatter,
) -> None:
    """A section of options; arguments are told of in the text."""
    options = [param for param in params if isinstance(param, click.Option)]
    rows = [record for option in options if (record := option.get_help_record(ctx))]
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)


def _no_project(message: str, named: str | None) -> Stop:
    import shlex  # noqa: PLC0415 - only for suggestions

    make = f"toolrt init {shlex.quote(named)}" if named else "toolrt init"
    return Stop(Exit.NOT_FOUND, message, code="project", next_=make)
