"""Whether there are people who could say yes: terms that nobody can satisfy are worth a warning.

At the command line decides the account that runs it, and only the one that owns the folder
`.toolrt` can reach the questions. Identities with a token or a claim are other people; they come in
through a server.
"""

from collections.abc import Collection, Sequence

from toolrt.core.decisions import Group, Terms
from toolrt.core.faults import Fault, Path
from toolrt.manifest.project import Identity

_HERE = "\0the account at the command line"
_HINT = (
    "a program can decide in other names (`rt.approvals`); "
    "`identities` with a token decide through `toolrt serve`"
)


def approver_faults(terms: Terms, identities: Sequence[Identity], path: Path) -> list[Fault]:
    """The warning that these terms can never be met by the people whom the project knows."""
    found = [each for each in terms.groups if len(_people(each, identities)) < each.count]
    if found:
        return [_fault(_message(found[0], identities), path)]
    if terms.exclude_requester and (alone := _alone(terms, identities)):
        message = f"`exclude_requester`, and `{alone}`, who alone may approve, alone may call"
        return [_fault(message, path)]
    return []


def _fault(message: str, path: Path) -> Fault:
    return Fault("too-few-approvers", message, path, _HINT, "warning")


def _people(group: Group, identities: Sequence[Identity]) -> set[str]:
    """Who could say yes for a group; one account of the machine at most is among them.

    Where nobody is named, it is the person at the terminal, whose roles nobody knows.
    """
    if not identities:
        is_open = not group.roles or bool(group.principals)
        return {_HERE} if is_open else set()
    may = [one for one in identities if "approve" in one.may and _holds(group, one)]
    others = {one.principal for one in may if one.os_user is None}
    accounts = {one.principal for one in may if one.os_user is not None} - others
    return {*others, *sorted(accounts)[:1]}


def _holds(group: Group, identity: Identity) -> bool:
    return group.holds(identity.principal, tuple(identity.roles))


def _alone(terms: Terms, identities: Sequence[Identity]) -> str | None:
    """The one identity that may say yes, where no other may ask."""
    may_approve: set[str] = set()
    for group in terms.groups:
        may_approve |= _people(group, identities)
    may_call = {one.principal for one in identities if "call" in one.may}
    return next(iter(may_approve)) if may_call == may_approve and len(may_call) == 1 else None


def _message(group: Group, identities: Sequence[Identity]) -> str:
    wanted = f"this needs a yes of {_who(group)}"
    if not identities:
        there = "without `identities` only the person at the terminal decides"
        return (
            f"{wanted}, and {there}, who has no roles" if group.roles else f"{wanted}, and {there}"
        )
    may = [one for one in identities if "approve" in one.may and _holds(group, one)]
    if len(_names(may)) < group.count:
        return f"{wanted}, and of `identities` {_counted(_names(may))} could say it"
    return f"{wanted}, and the accounts of one machine count as one: one of them owns `.toolrt`"


def _names(identities: Collection[Identity]) -> list[str]:
    return sorted({one.principal for one in identities})


def _counted(names: Sequence[str]) -> str:
    return "nobody" if not names else f"only {', '.join(f'`{each}`' for each in names)}"


def _who(group: Group) -> str:
    people = f"{group.count} people" if group.count > 1 else "somebody"
    roles = ", ".join(f"`{each}`" for each in group.roles)
    named = [f"of role {roles}"] if roles else []
    named += [f"`{each}`" for each in group.principals]
    return " ".join([people, " or ".join(named)]).rstrip()
