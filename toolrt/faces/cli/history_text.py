"""Entries of the journal in a person's words: a line of a list, and all of one entry.

Everything that came from a model, a tool or a caller is escaped.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from toolrt.faces.cli.table import aligned
from toolrt.faces.cli.told import SHORT_ID
from toolrt.faces.output import Screen, one_line, visible

Entry = Mapping[str, Any]

_EVENTS = {
    "asked": "proposed",
    "claimed": "runs",
    "succeeded": "executed",
    "failed": "executed, failed",
    "unknown": "executed, unknown end",
    "mismatch": "REFUSED: not what was approved",
}
_TIME = "%Y-%m-%d %H:%M:%S"
_VERDICTS = {"approve": "approved", "deny": "denied"}
_COLORS = {"success": "green", "error": "red", "paused": "yellow", "partial": "yellow"}
_NAMED = frozenset({"breaker", "grant"})
_SHOWN_BY_ITSELF = frozenset({"kind", "at", "tool", "writer", "seq", "seal"})


def row(entry: Entry, screen: Screen) -> list[str]:
    """Time, tool, who, what was decided, what came of it, and the id to ask by."""
    status, decision = _status(entry), _decision(entry)
    color = _COLORS.get(str(entry.get("status")))
    who = one_line(_who(entry))
    shown = screen.paint(status, fg=color) if color else status
    return [
        time_of(entry),
        one_line(str(entry.get("tool") or _breaker(entry) or "-")),
        who,
        decision,
        shown,
        _id(entry),
    ]


def lines(entries: Sequence[Entry], screen: Screen) -> list[str]:
    """A line an entry, in columns."""
    return aligned([row(entry, screen) for entry in entries])


def block(entry: Entry, screen: Screen) -> str:
    """All of one entry."""
    head = "  ".join(filter(None, row(entry, screen)[:-1]))
    return "\n".join([head, *(f"  {line}" for line in _details(entry))])


def time_of(entry: Entry) -> str:
    """Local time, to the second."""
    return datetime.fromtimestamp(entry["at"]).astimezone().strftime(_TIME)


def _who(entry: Entry) -> str:
    caller = entry.get("caller")
    principal = caller.get("principal") if isinstance(caller, Mapping) else None
    return str(entry.get("actor") or principal or entry.get("principal") or "-")


def _breaker(entry: Entry) -> object:
    """The target or tool whose breaker an entry is about."""
    return entry.get("name") if entry["kind"] == "breaker" else None


def _decision(entry: Entry) -> str:
    told = entry.get("decision")
    if not isinstance(told, Mapping):
        return ""
    rule = f" by {told['rule']}" if told.get("rule") else ""
    grant = f", grant {str(entry['grant'])[:SHORT_ID]}" if entry.get("grant") else ""
    return one_line(f"{told.get('decision')}{rule}{grant}")


def _status(entry: Entry) -> str:
    kind, event = entry["kind"], str(entry.get("event", ""))
    if kind == "call":
        code = entry.get("code")
        return one_line(f"{entry['status']} ({code})" if code else str(entry["status"]))
    if kind == "intent":
        return "about to run"
    if event == "decided":
        return one_line(_verdict(entry))
    if event == "granted" and "expires_at" in entry:
        until = datetime.fromtimestamp(entry["expires_at"]).astimezone()
        return one_line(f"grant granted, {entry.get('max_uses')} uses until {until:{_TIME}}")
    said = _EVENTS.get(event, event) or kind
    return one_line(f"{kind} {said}" if kind in _NAMED else said)


def _verdict(entry: Entry) -> str:
    """What somebody said; a yes that is not enough yet is told as one of several."""
    yeses = entry.get("yeses")
    if entry.get("verdict") == "approve" and entry.get("state") == "pending":
        many = f", {yeses['have']} of {yeses['of']}" if isinstance(yeses, Mapping) else ""
        return f"said yes{many}"
    return _VERDICTS.get(str(entry.get("verdict")), "decided")


def _id(entry: Entry) -> str:
    if entry["kind"] == "grant":
        return one_line(str(entry.get("grant")))[:SHORT_ID]
    if entry["kind"] == "approval" or (entry.get("approval") and entry["kind"] != "call"):
        return one_line(str(entry["approval"]))[:SHORT_ID]
    own = entry.get("batch") if entry["kind"] == "batch" else entry.get("grant")
    return one_line(str(entry.get("call_id") or own or ""))


def _details(entry: Entry) -> Iterator[str]:
    for name, value in entry.items():
        if name in _SHOWN_BY_ITSELF or value in (None, "", [], ()):
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield f"{name}: {visible(text)}"
