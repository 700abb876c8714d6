"""`toolrt import mcp`: a source with the tools that a server lists now, each by its name."""

from collections.abc import Mapping
from typing import Any

import click

from toolrt.faces.cli.import_file import file_options, hand_over, refuse_taken
from toolrt.faces.cli.options import Misuse, Settings, Verb
from toolrt.faces.exits import Exit

EXAMPLES = (
    ("toolrt import mcp files -- npx -y @modelcontextprotocol/server-filesystem .", "a program"),
    ("toolrt import mcp docs --url https://mcp.example.com/mcp", "a server that runs already"),
    ("toolrt import mcp docs --target docs --to tools.d/docs.yaml", "with a target's credentials"),
)


@click.command("mcp", cls=Verb, examples=EXAMPLES)
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", metavar="URL", help="The address of the server, in place of a COMMAND.")
@click.option("--target", metavar="NAME", help="A target of the project, which has the address.")
@file_options
@click.pass_obj
def mcp(
    settings: Settings,
    *,
    name: str,
    command: tuple[str, ...],
    url: str | None,
    target: str | None,
    to: str | None,
    force: bool,
) -> Exit:
    """Ask a server what tools it has, and write the source NAME with each of them under `include`.

    COMMAND, behind `--`, starts the server. Take out what is not wanted. What the tools are stays
    with the server: it is pinned when the project first sees it, and a change has to be approved.
    """
    from toolrt.faces.cli.import_servers import imported  # noqa: PLC0415 - `--help` is quick

    refuse_taken(to, force=force)
    made = imported(settings, name, _options(command, url, target))
    for line in made.left_out:
        settings.screen.say(line)
    comments = [f"Made by `toolrt import mcp {name}`: {len(made.said)} tools of its server."]
    report = {"server": name, "tools": len(made.said), "unmapped": made.left_out}
    manifest = made.manifest
    return hand_over(settings, manifest, comments, report, to=to, force=force, comment=made.comment)


def _options(command: tuple[str, ...], url: str | None, target: str | None) -> Mapping[str, Any]:
    given = {"command": list(command), "url": url, "target": target}
    made = {key: each for key, each in given.items() if each}
    if len(made) != 1:
        hint = "such as `toolrt import mcp docs --url https://mcp.example.com/mcp`"
        raise Misuse("needs one of a COMMAND behind `--`, --url and --target", hint=hint)
    return made
