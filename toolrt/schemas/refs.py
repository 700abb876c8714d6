"""References inside a schema: what they lead to, and whether following them ever ends."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolrt.core.faults import Fault, Path
from toolrt.core.names import nearest
from toolrt.schemas.keywords import IN_PLACE
from toolrt.schemas.shapes import resolve
from toolrt.schemas.validators import BadSchemaError, compile_validator

MOST_SCHEMAS = 20_000

Place = tuple[Path, Mapping[str, Any]]
"""A schema with a `$ref` and where it stands."""


def ref_faults(root: Mapping[str, Any], places: Sequence[Place], *, has_ids: bool) -> list[Fault]:
    """The faults of all references of `root`, which stand at `places`.

    Nothing is fetched: a reference leads to a place in `root`. With `$id`s or anchors in it, only
    a compiler can tell, so it is asked.
    """
    unknown = [
        (path, schema["$ref"])
        for path, schema in places
        if has_ids or resolve(root, schema["$ref"]) is None
    ]
    if unknown and not _compiles(root):
        return [_dangling(root, path, ref) for path, ref in unknown if not _is_meta(ref)]
    return list(_loops(root, places))


def _compiles(root: Mapping[str, Any]) -> bool:
    try:
        compile_validator(root)
    except BadSchemaError as error:
        return error.violation.kind != "Referencing"
    return True
