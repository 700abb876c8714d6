"""`toolrt serve`: every tool for every agent, over MCP and REST, through the one pipeline."""

from typing import Any

import click

from toolrt.faces.cli.durations import duration
from toolrt.faces.cli.options import Misuse, Settings, Verb
from toolrt.faces.exits import Exit

EXAMPLES = (
    ("toolrt serve", "on this machine, at http://127.0.0.1:8080"),
    ("toolrt serve --port 0 -o json", "on a free port, told as JSON"),
    ("toolrt serve --stdio", "MCP over stdin and stdout, for a client that starts it"),
    ("toolrt serve --host 0.0.0.0 --workers 4", "for others: identities must be written"),
)


@click.command("serve", cls=Verb, examples=EXAMPLES)
@click.option(
    "--host",
    envvar="TOOLRT_HOST",
    show_envvar=True,
    help="Address to listen at.  [default: 127.0.0.1]",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    envvar="TOOLRT_PORT",
    show_envvar=True,
    help="Port; 0 takes a free one.  [default: 8080]",
)
@click.option(
    "--public-url",
    envvar="TOOLRT_PUBLIC_URL",
    show_envvar=True,
    metavar="URL",
    help="How people reach it, where a proxy stands before it.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    envvar="TOOLRT_WORKERS",
    show_envvar=True,
    help="Processes that share the port.  [default: 1]",
)
@click.option(
    "--drain",
    callback=duration,
    metavar="DURATION",
    help="When it ends: time for what runs.  [default: 30s]",
)
@click.option("--stdio", is_flag=True, help="Speak MCP on stdin and stdout instead.")
@click.option("--no-watch", is_flag=True, help="Reload only when asked to.")
@click.option("--allow-foreign-config", is_flag=True, help="Let the folders belong to others.")
@click.pass_obj
def verb(settings: Settings, /, *, stdio: bool, **given: Any) -> Exit:
    """Serve the tools: MCP at /mcp, REST at /v1, and the page where people approve at /approvals.

    It listens on this machine alone unless told otherwise. Calls are open here; decisions, reloads
    and the journal need a key: that of an identity, or the one that is made at each start. Files
    that change are in force at once; HUP and `toolrt reload` ask for it. TERM lets what runs end.
    """
    if stdio:
        return _stdio(settings, given)
    from toolrt.faces.cli.serving import Plan, host  # noqa: PLC0415 - `--help` loads no server

    return host(Plan.of(settings, **given), settings)


def _stdio(settings: Settings, given: dict[str, Any]) -> Exit:
    without = {"host": None, "port": None, "public_url": None, "workers": 1, "drain": None}
    for name, usual in without.items():
        if given[name] != usual:
            option = name.replace("_", "-")
            raise Misuse(f"`--stdio` has no {name}", hint=f"leave `--{option}` out")
    from toolrt.faces.mcp.early import serve_stdio  # noqa: PLC0415 - as above

    return serve_stdio(settings, watch=not given["no_watch"])
