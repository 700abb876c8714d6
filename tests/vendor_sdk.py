"""Documents held against the types of the vendors' own SDKs: nothing may be missing, or too much."""

import json
from typing import Any

from pydantic import TypeAdapter


def fits(document: Any, kind: Any) -> bool:
    """Whether a document is one of the SDK's type, with no key that the type does not know."""
    adapter = TypeAdapter(kind)
    read = adapter.validate_python(document)
    return json.loads(adapter.dump_json(read, exclude_none=True, by_alias=True)) == document
