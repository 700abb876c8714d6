"""`toolrt breakers list` and `reset`: how breakers stand, and closing them by hand."""

import click

from toolrt.core.results import SCHEMA
from toolrt.faces.cli.approvals_desk import Desk, at_desk
from toolrt.faces.cli.circuits import Circuit, circuits
from toolrt.faces.cli.names import compiled_files
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.cli.table import aligned
from toolrt.faces.exits import Exit, Stop
from toolrt.faces.output import Screen, one_line

_COLORS = {"closed": "green", "open": "red", "half-open": "yellow"}


@click.command(
    "list",
    cls=Verb,
    examples=(("toolrt breakers list", "what is not called for now, and until when"),),
)
@click.pass_obj
def list_(settings: Settings) -> Exit:
    """List the breakers that tools declare, as the store knows them."""
    snapshot, files = compiled_files(settings)
    found = circuits(snapshot, files, settings)
    documents = [each.document() for each in found]
    screen = settings.screen
    screen.show(
        {"schema": SCHEMA, "breakers": documents},
        lambda: "\n".join(aligned([_row(each, screen) for each in found])),
        [{"schema": SCHEMA, **each} for each in documents],
    )
    if not found:
        screen.say("no tool declares a `breaker`")
    return Exit.OK


@click.command(
    "reset",
    cls=Verb,
    examples=(("toolrt breakers reset billing", "the target works again: call it at once"),),
)
@click.argument("name")
@click.pass_obj
def reset(settings: Settings, *, name: str) -> Exit:
    """Close the breaker of NAME, a target or a tool; other processes hear of it within a second."""
    return at_desk(settings, lambda desk: _reset(desk, name))


async def _reset(desk: Desk, name: str) -> Exit:
    if "admin" not in desk.by.may:
        raise Stop(
            Exit.DENIED,
            f"{desk.by.principal} may reset no breakers",
            code="access-denied",
            hint="`may: [admin]` of an identity in toolrt.yaml lets somebody do that",
            next_=desk.settings.command("breakers list"),
        )
    named = _named(desk, name)
    closed = await desk.opened.breakers.reset(named, desk.by.principal)
    document = {"schema": SCHEMA, "name": named, "reset": bool(closed)}
    said = "reset: it is called again" if closed else "nothing stood against it"
    desk.settings.screen.show(document, lambda: f"{one_line(named)}  {said}")
    return Exit.OK


def _named(desk: Desk, name: str) -> str:
    """The name of the breaker that is meant; that of a tool stands for its target's."""
    from toolrt.core.names import did_you_mean  # noqa: PLC0415 - difflib, only for mistakes
    from toolrt.pipeline.breaker_keys import key_of  # noqa: PLC0415 - `--help` loads no runtime

    tools = desk.opened.snapshot.tools.values()
    names = {
        each.name: key_of(each, each.manifest.breaker).name
        for each in tools
        if each.manifest.breaker
    }
    if name in names or name in names.values():
        return names.get(name, name)
    raise Stop(
        Exit.NOT_FOUND,
        f"there is no breaker `{name}`",
        code="not-found",
        hint=did_you_mean(name, [*names.values(), *names]),
        next_=desk.settings.command("breakers list"),
    )


def _row(circuit: Circuit, screen: Screen) -> list[str]:
    """Name, state, why and for how long, and the tools."""
    stored = circuit.stored
    said = ""
    if circuit.reason is not None:
        said = circuit.reason.partition(", ")[2]
        said += f", after {stored.why}" if stored and stored.why else ""
    elif stored is not None and stored.failures:
        said = f"{stored.failures} of {circuit.options.failures} failures in a row"
    state = screen.paint(circuit.state, fg=_COLORS[circuit.state])
    tools = one_line(", ".join(circuit.tools)) if circuit.key.kind == "target" else ""
    name = circuit.key.name
    if circuit.tenant is not None:
        name += f" for {circuit.tenant}"
    return [one_line(name), state, said, tools]
