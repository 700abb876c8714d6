"""An approval on a page, and what a form says about it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.responses import Response

from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.faces.approval_document import asked_fields
from toolrt.faces.cli.approvals_text import MOST_BYTES, needed, told, when
from toolrt.faces.http.bodies import DecisionBody, checked
from toolrt.faces.http.pages import page
from toolrt.faces.http.problems import ProblemError
from toolrt.faces.output import one_line, visible
from toolrt.pipeline.viewing import Viewed
from toolrt.policy.needs import awaits
from toolrt.schemas.text import parse_json
from toolrt.stores.approvals import Approval
from toolrt.stores.moments import SystemMoments

_COLORS: Final = {"denied": "bad", "failed": "bad", "unknown": "bad", "approved": "good",
                  "succeeded": "good"}  # fmt: skip
_FIELD: Final = "field."
_BAD: Final = 400


def listed_page(found: Sequence[Viewed], state: str, me: Caller, csrf: str) -> Response:
    """The page with a line for each approval."""
    now = SystemMoments().now()
    rows = [
        {
            "id": each.record.id,
            "tool": one_line(each.record.tool),
            "state": each.record.state,
            "color": _COLORS.get(each.record.state, ""),
            "by": one_line(each.record.principal),
            "when": when(each.record, now),
            "reason": one_line(each.record.reason or ""),
        }
        for each in found
    ]
    return page("approvals", title="Approvals", rows=rows, state=state, me=me.principal, csrf=csrf)


def given_page(
    viewed: Viewed, me: Caller, csrf: str, said: str, status: int, *, is_full: bool
) -> Response:
    """The page of one approval: exactly what will run, and the forms for who may decide. `said` is
    what came of the last form, `status` that of HTTP for it.
    """
    record = viewed.record
    shown = told(viewed, SystemMoments().now(), me.principal, None if is_full else MOST_BYTES)
    may_decide = record.state == "pending" and _awaits(viewed, me)
    why_not = "" if may_decide or record.state != "pending" else needed(viewed, me)
    return page(
        "approval",
        status,
        title=one_line(record.tool),
        id=record.id,
        text=shown.text,
        left_bytes=shown.left_bytes,
        secrets=", ".join(visible(each) for each in viewed.secrets),
        may_decide=may_decide,
        why_not=why_not,
        seen=record.final_hash,
        fields=_fields(record),
        is_external=record.mode == "external",
        me=me.principal,
        csrf=csrf,
        said=said,
        is_bad=status >= _BAD,
    )


def decision_of(form: Mapping[str, str], record: Approval) -> DecisionBody:
    """What a form says. Raises ProblemError."""
    note = form.get("note") or None
    if form.get("decision") == "deny":
        return checked(DecisionBody, {"decision": "deny", "note": note}, "form")
    if form.get("decision") != "approve" or not form.get("seen"):
        raise ProblemError(400, "bad-request", "this form says neither yes nor no")
    said: dict[str, Any] = {"decision": "approve", "note": note, "seen": form["seen"]}
    edits = _edits(form, record)
    if edits:
        said["edits"] = edits
    if record.mode == "external":
        said |= _supplied(form)
    return checked(DecisionBody, said, "form")


def _awaits(viewed: Viewed, me: Caller) -> bool:
    record = viewed.record
    is_wanted = any(awaits(each, record.principal, me) for each in viewed.needs)
    return "approve" in me.may and is_wanted


def _fields(record: Approval) -> list[dict[str, Any]]:
    """What a person fills in."""
    known = json.loads(record.fields) if record.fields else {}
    return [
        {
            "name": name,
            "description": one_line(str(schema.get("description", ""))),
            "required": name in known.get("required", ()),
            "choices": [str(each) for each in schema.get("enum", ())],
            "type": "password" if schema.get("sensitive") else "text",
        }
        for name, schema in asked_fields(record).items()
    ]


def _edits(form: Mapping[str, str], record: Approval) -> dict[str, Any]:
    """Other values, and those that were asked for. Raises ProblemError."""
    text = form.get("edits", "").strip()
    edits = _json(text, "the arguments to change") if text else {}
    if not isinstance(edits, dict):
        message = "the arguments to change are no JSON object"
        raise ProblemError(400, "invalid-body", message, hint='write {"amount": 500}')
    schemas = asked_fields(record)
    for name, value in form.items():
        if name.startswith(_FIELD) and value:
            field = name.removeprefix(_FIELD)
            if field not in schemas:
                raise ProblemError(400, "invalid-body", "nobody was asked for this value")
            edits[field] = _typed(value, schemas[field], field)
    return edits


def _typed(text: str, schema: Mapping[str, Any], name: str) -> Any:
    """A text where text may stand, else what it is as JSON."""
    kinds = schema.get("type", "string")
    may_be_text = "string" in (kinds if isinstance(kinds, list) else [kinds])
    return text if may_be_text else _json(text, f"`{name}`")


def _supplied(form: Mapping[str, str]) -> dict[str, Any]:
    result, error = form.get("result", "").strip(), form.get("error", "").strip()
    made: dict[str, Any] = {"result": _json(result, "the result")} if result else {}
    return made | ({"error": error} if error else {})


def _json(text: str, what: str) -> Any:
    try:
        return parse_json(text)
    except RefusedError as error:
        message = f"{what} cannot be read: {error.message}"
        hint = 'write JSON, such as {"amount": 500}, 500 or "text"'
        raise ProblemError(400, "invalid-body", message, hint=hint) from None
