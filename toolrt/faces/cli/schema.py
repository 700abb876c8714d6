"""`toolrt schema`: JSON Schema of what a user may write, for editors; and of tools, for vendors."""

from typing import TYPE_CHECKING, Literal

import click

from toolrt.core.errors import RefusedError
from toolrt.faces.cli.caller import caller_of, seen_by
from toolrt.faces.cli.circuits import open_tools, without_hidden
from toolrt.faces.cli.dialect import (
    STRICT,
    dialect_option,
    export_of,
    listed_names,
    show_export,
    show_report,
    told_names,
)
from toolrt.faces.cli.names import compiled_files, complete_tool, require_tool
from toolrt.faces.cli.options import Misuse, Settings, Verb
from toolrt.faces.exits import Exit, Stop
from toolrt.faces.output import to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolrt.catalog.snapshot import Snapshot
    from toolrt.dialects.base import Export

Strict = Literal["auto", "always", "never"]

EXAMPLES = (
    ("toolrt schema > tools.schema.json", "of the files in tools.d"),
    ("toolrt schema policies", "of the files in policies.d"),
    ("toolrt schema project", "of toolrt.yaml"),
    ("toolrt schema --dialect openai", "of all tools, for a request to OpenAI"),
    ("toolrt schema --dialect anthropic files.size", "of one tool, for Anthropic"),
    ("toolrt schema --dialect google --explain", "what a vendor is not told"),
    ("toolrt schema --compat old.json", "what breaks since an older export"),
    ("toolrt schema --compat ../released", "what breaks since another state of the project"),
)

WHICH = ("tools", "policies", "project")


def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """What may stand there: with `--dialect` a tool, else which files."""
    if ctx.params.get("dialect"):
        return complete_tool(ctx, param, incomplete)
    return [each for each in WHICH if each.startswith(incomplete)]


@click.command("schema", cls=Verb, examples=EXAMPLES)
@click.argument("which", nargs=-1, metavar="[WHICH | TOOL...]", shell_complete=complete)
@dialect_option("Tools, in the format of this vendor's requests.")
@click.option(
    "--strict",
    type=click.Choice(STRICT),
    help="With --dialect: schemas that a vendor can hold its model to.  [default: auto]",
)
@click.option("--explain", is_flag=True, help="With --dialect: list what the vendor is not told.")
@click.option("--fingerprint", is_flag=True, help="With --dialect: a hash of what it is told.")
@click.option("--compat", metavar="OLD", help="What breaks since an older export, or project.")
@click.pass_obj
def verb(
    settings: Settings,
    *,
    which: tuple[str, ...],
    dialect: str | None,
    strict: Strict | None,
    explain: bool,
    fingerprint: bool,
    compat: str | None,
) -> Exit:
    """Print the JSON Schema (2020-12) of WHICH files: tools, policies or project; `tools` when not
    said. With --dialect: the TOOLs that you may call, all when none is named, for a vendor.

    With --compat: what calls that fitted OLD meet now. Its status is 10 where they break. OLD is
    what `--dialect NAME -o json` printed before, or the folder of a project.
    """
    if compat is not None and dialect is None:
        dialect = "mcp"
    if dialect is None:
        beside = {
            "--strict": strict,
            "--explain": explain,
            "--fingerprint": fingerprint,
        }
        return _of_files(settings, which, [name for name, given in beside.items() if given])
    among = told_names if compat is None else listed_names
    export = _exported(settings, which, dialect, strict or "auto", among)
    if compat is not None:
        from toolrt.faces.cli.schema_compat import compare  # noqa: PLC0415 - seldom asked for

        return compare(export, compat, dialect, settings)
    if fingerprint:
        settings.screen.show({"fingerprint": export.fingerprint}, lambda: export.fingerprint)
    elif explain:
        show_report(export, dialect, settings)
    else:
        show_export(export, dialect, settings)
    return Exit.OK


def _of_files(settings: Settings, which: tuple[str, ...], beside: list[str]) -> Exit:
    if beside:
        hint = f"name a vendor: {settings.command('schema --dialect openai')}"
        raise Misuse(f"`{beside[0]}` goes with `--dialect`", hint=hint)
    wanted = which[0] if which else "tools"
    if len(which) > 1 or wanted not in WHICH:
        named = " ".join(which)
        hint = f"for tools, name a vendor: {settings.command(f'schema --dialect openai {named}')}"
        raise Misuse(f"`{named}` is none of {', '.join(WHICH)}", hint=hint)
    from toolrt.catalog.editor import editor_schema  # noqa: PLC0415 - `--help` loads no catalogue

    made = editor_schema(wanted)
    settings.screen.show(made, lambda: to_json(made, indent=2))
    return Exit.OK


def _exported(
    settings: Settings,
    named: tuple[str, ...],
    dialect: str,
    strict: Strict,
    among: "Callable[[Snapshot], frozenset[str]]",
) -> "Export":
    """The tools that were named, or those `among` them that somebody at this terminal can call."""
    whole, files = compiled_files(settings)
    caller = caller_of(whole, None, settings)
    snapshot, hidden = seen_by(whole, caller)
    if named:
        tools = [require_tool(snapshot, each, settings) for each in dict.fromkeys(named)]
    else:
        wanted = among(snapshot) - hidden
        seen = [each for each in snapshot.listed.values() if each.name in wanted]
        shut = open_tools(snapshot, files, settings, caller.tenant)
        tools = [each for each in without_hidden(seen, shut) if each.blocked is None]
    try:
        return export_of(tools, dialect, snapshot, strict)
    except RefusedError as error:
        next_ = settings.command(f"schema --dialect {dialect} --explain")
        raise Stop(
            Exit.USAGE, error.message, code=error.code, hint=error.hint, next_=next_
        ) from error
