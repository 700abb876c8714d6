"""`toolrt search`: the tools that serve an intent."""

from typing import TYPE_CHECKING

import click

from toolrt.core.errors import ProjectError
from toolrt.core.results import SCHEMA
from toolrt.faces.cli import loop
from toolrt.faces.cli.caller import Guise, as_option, caller_of
from toolrt.faces.cli.list import summary
from toolrt.faces.cli.names import compiled
from toolrt.faces.cli.options import Misuse, Settings, Verb
from toolrt.faces.cli.table import fitted, join
from toolrt.faces.exits import Exit
from toolrt.faces.output import one_line

if TYPE_CHECKING:
    from toolrt.pipeline.searching import Found

EXAMPLES = (
    ("toolrt search 'what will the weather be'", "the tools that serve that"),
    ("toolrt search refund --tag money -k 3", "the three best of those with a tag"),
    ("toolrt search 天気予報 -o json", "with how well each fits, and by which words"),
)


@click.command("search", cls=Verb, examples=EXAMPLES)
@click.argument("words", nargs=-1, required=True, metavar="INTENT...")
@click.option("-k", type=click.IntRange(1, 100), help="How many at most.  [default: 8]")
@click.option("--tag", multiple=True, metavar="TAG", help="Only tools with this tag.")
@click.option("--namespace", metavar="NAME", help="Only tools of this namespace or source.")
@as_option("Search")
@click.pass_obj
def verb(
    settings: Settings,
    *,
    words: tuple[str, ...],
    k: int | None,
    tag: tuple[str, ...],
    namespace: str | None,
    as_: Guise | None,
) -> Exit:
    """Find the tools that serve an INTENT best: of those that you may call and that can be called
    now, best first. Ends with 7 when there is none.
    """
    intent = " ".join(words)
    if not intent.strip():
        raise Misuse("what for?", hint="write what the tool should do")

    async def searched() -> Exit:
        from toolrt import runtime  # noqa: PLC0415 - `--help` loads no runtime

        try:
            async with runtime.open(settings.project()) as opened:
                caller = caller_of(opened.snapshot, as_, settings)
                found = await opened.search(intent, caller, k=k, tags=tag, namespace=namespace)
        except ProjectError:
            compiled(settings)  # ends the verb with all that is wrong
            raise
        return _shown(found, intent, settings)

    return loop.run(searched)


def _shown(found: "list[Found]", intent: str, settings: Settings) -> Exit:
    rows = [each.document() for each in found]
    document = {"schema": SCHEMA, "intent": intent, "tools": rows}
    settings.screen.show(document, lambda: _text(found, settings), rows)
    if found:
        return Exit.OK
    next_ = settings.command("list")
    settings.screen.say(f"no tool has a word of that; {next_} lists them all")
    return Exit.NOT_FOUND


def _text(found: "list[Found]", settings: Settings) -> str:
    if not found:
        return ""
    rows = [
        [each.entry.name, each.entry.effect, one_line(summary(each.entry.description))]
        for each in found
    ]
    lines = fitted(rows, first_share=0.4, edge=settings.screen.width)
    return "\n".join(map(join, lines))
