"""Which parameters carry sensitive data: it is masked wherever calls are written down."""

from collections.abc import Mapping
from typing import Any


def sensitive_names(schema: Mapping[str, Any]) -> frozenset[str]:
    """Names of the properties that are sensitive, at whatever depth."""
    shared = any(_is_sensitive(schema.get(key), shared=False) for key in ("$defs", "definitions"))
    properties = schema.get("properties", {})
    return frozenset(n for n, each in properties.items() if _is_sensitive(each, shared=shared))


def _is_sensitive(schema: Any, *, shared: bool) -> bool:
    """Whether something in a schema is sensitive; `shared` says so of what it may refer to."""
    if isinstance(schema, list):
        return any(_is_sensitive(each, shared=shared) for each in schema)
    if not isinstance(schema, dict):
        return False
    if schema.get("sensitive") is True or (shared and "$ref" in schema):
        return True
    return any(_is_sensitive(each, shared=shared) for each in schema.values())
