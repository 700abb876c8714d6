"""Who calls from this terminal: the account that runs us, as `identities` of the project know it.

Whoever may `admin` can look and call as somebody else of their tenant with `--as`, and as anybody
where they have none; nobody can decide as somebody else.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from toolrt.core.calls import INSIDE_CALL, MAY_CALL, Caller, Invocation, Reach
from toolrt.faces.cli.options import Misuse, Settings
from toolrt.faces.exits import Exit, Stop

if TYPE_CHECKING:
    from toolrt.catalog.snapshot import Snapshot
    from toolrt.manifest.project import Identity

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Guise:
    """Whom `--as` names; `roles` is None where those of the project hold."""

    principal: str
    roles: tuple[str, ...] | None


def as_option(what: str) -> Callable[[F], F]:
    """The option `--as`, read; it comes to the verb as `as_`."""
    return click.option(
        "--as",
        "as_",
        metavar="USER[@TENANT][:ROLE,…]",
        callback=lambda _ctx, _param, value: _guise(value),
        help=f"{what} as somebody else; for those who may `admin`.",
    )


def caller_of(snapshot: "Snapshot", guise: Guise | None, settings: Settings) -> Caller:
    """The person at the terminal, or the one that `--as` names. Raises Stop for who may not."""
    me = at_terminal(snapshot.identities)
    if guise is None:
        return me
    if "admin" not in me.may:
        hint = "`may: [admin]` of an identity in toolrt.yaml lets somebody use --as"
        raise _not_as(me, guise, settings, hint)
    known = _known(me, guise, snapshot.identities, settings)
    return known if guise.roles is None else replace(known, roles=guise.roles)


def _known(
    me: Caller, guise: Guise, identities: Sequence["Identity"], settings: Settings
) -> Caller:
    """The one that `--as` names: of the own tenant, where I have one.

    Without one I may be anybody, known or not, but have to say which of several namesakes.
    """
    from toolrt.policy.identities import full_name, of_principal  # noqa: PLC0415 - `--help` loads no policy

    name = guise.principal
    found = of_principal(name, identities, me)
    if me.tenant and not found:
        hint = "whoever has a tenant calls as those of `identities` who have the same"
        raise _not_as(me, guise, settings, hint)
    near = found or of_principal(name.rpartition("@")[0], identities, me)
    if len(near) > 1 or near != found:
        what = "names several people" if found else "names nobody"
        ways = " or ".join(f"--as {full_name(each)}" for each in near)
        raise Misuse(f"`--as {name}` {what}", hint=f"write {ways}")
    return found[0] if found else Caller(name)


def _not_as(me: Caller, guise: Guise, settings: Settings, hint: str) -> Stop:
    message = f"{me.principal} may not call as {guise.principal}"
    next_ = settings.command("list")
    return Stop(Exit.DENIED, message, code="access-denied", hint=hint, next_=next_)


def at_terminal(identities: Sequence["Identity"]) -> Caller:
    """The account that runs this process, and what it may do here.

    What a tool has started may call and no more, whoever runs it: no call approves itself.
    """
    from toolrt.policy.identities import of_os_user  # noqa: PLC0415 - as above

    me = of_os_user(_os_user(), identities)
    return replace(me, may=me.may & MAY_CALL) if INSIDE_CALL in os.environ else me


def locked_out(identities: Sequence["Identity"]) -> str | None:
    """What to say where the account that runs this process may make no calls; None where it may."""
    me = at_terminal(identities)
    if "call" in me.may:
        return None
    return (
        f"{me.principal} may make no calls at this terminal: "
        f"an identity of toolrt.yaml with `os_user: {_os_user()}` lets them"
    )


def check_known(by: Caller, settings: Settings) -> None:
    """Raise Stop for somebody who may nothing here."""
    if by.may:
        return
    raise Stop(
        Exit.DENIED,
        f"{by.principal} is not among the `identities` of toolrt.yaml",
        code="access-denied",
        hint="an identity with `os_user` and `may: [approve]` lets somebody decide here",
        next_=settings.command("check"),
    )


def only_of(by: Caller, identities: Sequence["Identity"]) -> Reach | None:
    """Whose questions and calls `by` may look at: those of their tenant, and there their own,
    where they may call and no more.

    None stands for everybody's; so it is for all where no identities are written.
    """
    from toolrt.policy.identities import reach_of  # noqa: PLC0415 - as above

    return reach_of(by) if identities else None


def seen_by(snapshot: "Snapshot", caller: Caller) -> tuple["Snapshot", frozenset[str]]:
    """The snapshot with the tools that `caller` may see, and the names of those that policy hides
    from them; whoever may `admin` sees these all the same (P15).
    """
    from toolrt.pipeline.stages.find import visible  # noqa: PLC0415 - as above

    open_ = {entry.name: entry for entry in visible(snapshot, _looking(caller))}
    hidden = frozenset(snapshot.tools.keys() - open_.keys())
    if "admin" in caller.may:
        return snapshot, hidden
    return replace(snapshot, tools=open_), hidden


def schema_for(snapshot: "Snapshot", tool: str, caller: Caller) -> dict[str, Any]:
    """The input schema of a tool, by which arguments are read: empty where the caller sees none."""
    from toolrt.pipeline.stages.find import is_visible  # noqa: PLC0415 - as above

    entry = snapshot.tool(tool)
    if entry is None:
        return {}
    may_see = "admin" in caller.may or is_visible(entry, _looking(caller))
    return entry.input_schema if may_see else {}


def _looking(caller: Caller) -> Invocation:
    """A call that is never made, by somebody who only looks."""
    from toolrt.core.clock import SystemClock  # noqa: PLC0415 - as above

    return Invocation("", "", {}, caller, SystemClock(), 0.0, 0.0)


def _guise(text: str | None) -> Guise | None:
    if text is None:
        return None
    principal, colon, roles = text.partition(":")
    named = roles.split(",") if colon else []
    if not principal or not all(named):
        wanted = "write --as USER or --as USER:ROLE,…, such as --as ann:finance"
        raise Misuse(f"`--as {text}` names no user with roles", hint=wanted)
    return Guise(principal, tuple(named) if colon else None)


def _os_user() -> str:
    import pwd  # noqa: PLC0415 - only calls need it

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"
