"""Which parameters carry sensitive data: it is masked wherever calls are written down."""

from collections.abc import Mapping
from typing import Any, Final

_NONE: Final[frozenset[str]] = frozenset()


def sensitive_names(schema: Mapping[str, Any]) -> frozenset[str]:
    """Names of the properties that are sensitive, at whatever depth."""
    shared = any(_is_sensitive(schema.get(key), shared=False) for key in ("$defs", "definitions"))
    properties = schema.get("properties", {})
    found = [name for name, each in properties.items() if _is_sensitive(each, shared=shared)]
    return frozenset(found) if found else _NONE


def _is_sensitive(schema: Any, *, shared: bool) -> bool:
    """Whether something in a schema is sensitive; `shared` says so of what it may refer to."""
    if isinstance(schema, dict):
        if schema.get("sensitive") is True or (shared and "$ref" in schema):
            return True
        schema = schema.values()
    elif not isinstance(schema, list):
        return False
    for each in schema:  # most of it are texts and numbers, which need no call each
        if isinstance(each, dict | list) and _is_sensitive(each, shared=shared):
            return True
    return False
