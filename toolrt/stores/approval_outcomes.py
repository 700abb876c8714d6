"""What became of a call, as it lies in the store: JSON, of whatever age and hand.

`{"call_id": …}` says that it ran, `{"error": {"code", "message"}}` that it failed (a text, where a
person said why and nothing ran yet), and `{"data": …}` is the result of a call that a person made.
"""

import json
from hashlib import sha256
from typing import Any

from toolrt.core.hiding import hiding, leaves
from toolrt.schemas.canonical import canonical_json


def outcome_of(text: str | None) -> dict[str, Any] | None:
    """One shape for all of them: an error has a `code`, which may be None, and a `message`."""
    if text is None:
        return None
    try:
        kept = json.loads(text)
    except ValueError:
        kept = text
    if not isinstance(kept, dict):
        return {"data": kept}
    return kept if kept.get("error") is None else {**kept, "error": _error(kept["error"])}


def digest_of(text: str | None) -> str | None:
    """What a result that a person gave is known by; None where there is none, or no JSON."""
    if text is None:
        return None
    try:
        return sha256(canonical_json(json.loads(text))).hexdigest()
    except ValueError:
        return None


def without_sensitive(text: str | None, sealed: str | None) -> str | None:
    """The outcome without the sensitive arguments of its call; `sealed` holds these."""
    if text is None or sealed is None:
        return text
    mask = hiding(leaves(json.loads(sealed)))
    try:
        kept = json.loads(text)
    except ValueError:
        return str(mask(text))
    return json.dumps(mask(kept), ensure_ascii=False)


def _error(kept: Any) -> dict[str, Any]:
    if not isinstance(kept, dict):
        return {"code": None, "message": str(kept)}
    return {**kept, "code": kept.get("code"), "message": str(kept.get("message", ""))}
