"""The shapes of answers, as `/openapi.json` tells them."""

from collections.abc import Mapping
from typing import Any, Final

from toolrt.core.results import SCHEMA

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "number"}
_WHOLE: Final = {"type": "integer"}
_FLAG: Final = {"type": "boolean"}
_OBJECT: Final = {"type": "object"}
_MAYBE_TEXT: Final = {"type": ["string", "null"]}
_MAYBE_NUMBER: Final = {"type": ["number", "null"]}
_MAYBE_OBJECT: Final = {"type": ["object", "null"]}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_VERSION: Final = {"const": SCHEMA}


def _shape(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"schema": _VERSION, **required, **optional},
        "required": ["schema", *required],
    }


def _list(name: str, shape: str, **more: Any) -> dict[str, Any]:
    items = {"$ref": f"#/components/schemas/{shape}"}
    return _shape({name: {"type": "array", "items": items}, **more})


_FAILURE: Final = {
    "type": "object",
    "properties": {
        "code": _TEXT,
        "message": _TEXT,
        "hint": _MAYBE_TEXT,
        "retryable": _FLAG,
        "details": _OBJECT,
    },
    "required": ["code", "message", "hint", "retryable", "details"],
}
_PAUSE: Final = {
    "type": "object",
    "properties": {
        "approval_id": _TEXT,
        "mode": {"enum": ["confirm", "input", "external"]},
        "fields": _TEXTS,
        "expires_at": {"type": "string", "format": "date-time"},
        "url": _MAYBE_TEXT,
    },
    "required": ["approval_id", "mode", "fields", "expires_at", "url"],
}
_TOOL: Final = {
    "name": _TEXT,
    "title": _MAYBE_TEXT,
    "description": _TEXT,
    "kind": _TEXT,
    "effect": {"enum": ["read", "write", "irreversible"]},
    "idempotent": _FLAG,
    "tags": _TEXTS,
    "version": _MAYBE_TEXT,
    "deprecated": _MAYBE_TEXT,
    "available": _FLAG,
    "retry_after_s": _MAYBE_NUMBER,
    "input_schema": _OBJECT,
    "output_schema": _MAYBE_OBJECT,
}
_APPROVAL: Final = {
    "id": _TEXT,
    "state": _TEXT,
    "mode": _TEXT,
    "tool": _TEXT,
    "plan": _MAYBE_TEXT,
    "reason": _MAYBE_TEXT,
    "rules": _TEXTS,
    "asked_by": _OBJECT,
    "created_at": _MAYBE_TEXT,
    "expires_at": _MAYBE_TEXT,
}
_GRANT: Final = {
    "id": _TEXT,
    "state": {"enum": ["live", "revoked", "expired", "used up"]},
    "scope": {"enum": ["session", "pattern"]},
    "tool": _TEXT,
    "principal": _TEXT,
    "tenant": _MAYBE_TEXT,
    "session": _MAYBE_TEXT,
    "pattern": _OBJECT,
    "approval_id": _TEXT,
    "uses": _WHOLE,
    "max_uses": _WHOLE,
    "created_at": {"type": "string", "format": "date-time"},
    "expires_at": {"type": "string", "format": "date-time"},
}
_INSTRUCTION: Final = {
    "type": "object",
    "properties": {"tools": _TEXTS, "text": _TEXT},
    "required": ["tools", "text"],
}

SCHEMAS: Final[Mapping[str, Any]] = {
    "Problem": _shape(
        {
            "type": _TEXT,
            "title": _TEXT,
            "status": _WHOLE,
            "detail": _TEXT,
            "code": _TEXT,
            "hint": _MAYBE_TEXT,
        }
    ),
    "Result": _shape(
        {
            "call_id": _TEXT,
            "tool": _TEXT,
            "status": {"enum": ["success", "partial", "error", "paused"]},
            "text": _TEXT,
            "data": {},
            "control": _OBJECT,
            "stats": _OBJECT,
            "context": _OBJECT,
        },
        error=_FAILURE,
        pause=_PAUSE,
    ),
    "Tool": _shape({"generation": _WHOLE, **_TOOL}),
    "Tools": _shape(
        {"generation": _WHOLE, "tools": {"type": "array", "items": _OBJECT}},
        dialect=_TEXT,
        fingerprint=_TEXT,
        hosted={"type": "array", "items": _OBJECT},
        report={"type": "array", "items": _OBJECT},
    ),
    "Turn": _shape(
        {
            "dialect": _TEXT,
            "final": _FLAG,
            "messages": {"type": "array", "items": _OBJECT},
            "results": {"type": "array", "items": _OBJECT},
        }
    ),
    "Approval": _shape(
        _APPROVAL, arguments=_OBJECT, will_run={}, final_hash=_TEXT, votes={"type": "array"}
    ),
    "Approvals": _list("approvals", "Approval"),
    "Grant": _shape(_GRANT, granted_by=_TEXT, revoked_by=_MAYBE_TEXT),
    "Grants": _list("grants", "Grant"),
    "Instructions": _shape(
        {
            "generation": _WHOLE,
            "toolset": _MAYBE_TEXT,
            "text": _TEXT,
            "instructions": {"type": "array", "items": _INSTRUCTION},
        }
    ),
    "Entries": _shape({"entries": {"type": "array", "items": _OBJECT}}),
    "Output": _shape(
        {
            "handle": _TEXT,
            "call_id": _TEXT,
            "tool": _TEXT,
            "media_type": _TEXT,
            "size": _WHOLE,
            "offset": _WHOLE,
            "next_offset": {"type": ["integer", "null"]},
            "text": _MAYBE_TEXT,
            "content": _MAYBE_TEXT,
        }
    ),
    "Reload": {
        "type": "object",
        "properties": {
            "schema": _VERSION,
            "accepted": _FLAG,
            "new": _FLAG,
            "generation": _WHOLE,
            "why": _MAYBE_TEXT,
            "hint": _MAYBE_TEXT,
        },
        "required": ["schema"],
    },
}
