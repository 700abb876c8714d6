"""Whether a schema that somebody wrote can be used at all: every fault, each at its place.

Runs at load for each tool, so one walk and one look at the draft's own schema must do; validators
are compiled only for what these leave in doubt. Nothing is ever fetched.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from toolrt.core.faults import Fault, Path
from toolrt.schemas.fitting import surely_fits
from toolrt.schemas.keywords import ROLES
from toolrt.schemas.phrases import describe, pointer, shown, with_article
from toolrt.schemas.refs import ref_faults
from toolrt.schemas.shapes import TYPES, at
from toolrt.schemas.validators import (
    LATEST,
    BadSchemaError,
    Violation,
    compile_part,
    meta_validator,
    violations,
)
from toolrt.schemas.walk import StopError, Walk


def schema_faults(schema: Any, path: Path = ()) -> list[Fault]:
    """The faults of a whole JSON Schema that stands at `path`."""
    faults = _faults(schema)
    return [fault.under(*path) for fault in faults] if path else faults


def _faults(schema: Any) -> list[Fault]:
    if not isinstance(schema, Mapping):
        return [Fault("bad-schema", "a JSON Schema is a mapping of its words")]
    walk = Walk()
    try:
        walk.schema(schema, ())
    except StopError:
        return walk.faults
    if not walk.is_json:
        return walk.faults
    faults = walk.faults
    faults += _draft_faults(schema, {fault.path for fault in faults})
    if walk.refs:
        faults += ref_faults(schema, walk.refs, has_ids=walk.has_ids)
    if walk.values and not any(fault.severity == "error" for fault in faults):
        for place, around, value in walk.values:
            if not surely_fits(around, value):
                faults += _misfit(schema, place, around, value)
    return faults


def _draft_faults(schema: Mapping[str, Any], told: set[Path]) -> Iterator[Fault]:
    """What breaks the draft's own schema, but for places that were told of already."""
    draft = str(schema.get("$schema", LATEST)).rstrip("#")
    validator = meta_validator(draft)
    if validator.is_valid(schema):
        return
    for violation in violations(validator, schema):
        place = violation.path
        if not any(path[: len(place)] == place for path in told):
            told.add(place)
            yield _draft_fault(schema, violation)


def _draft_fault(schema: Mapping[str, Any], violation: Violation) -> Fault:
    word = violation.path[-1] if violation.path else "the schema"
    wanted = with_article(_wanted(violation))
    got = shown(at(schema, violation.path))
    hint = _schema_remedy(word, at(schema, violation.path))
    return Fault("bad-schema", f"`{word}` must be {wanted}, not {got}", violation.path, hint)


def _schema_remedy(word: Any, value: Any) -> str | None:
    """What to write instead of slips that YAML and short forms lead to."""
    if word == "type" and (value is None or (isinstance(value, list) and None in value)):
        return 'write "null" in quotes; YAML reads it as no value without them'
    is_short = ROLES.get(str(word)) == "schema" and isinstance(value, str) and value in TYPES
    return f"write `{word}: {{type: {value}}}`" if is_short else None


def _wanted(violation: Violation) -> str:
    """What a keyword of the draft takes; the text of the draft itself is out of reach."""
    if violation.branches:
        wanted = (_wanted(branch[0]) for branch in violation.branches if branch)
        return " or ".join(dict.fromkeys(wanted))
    word = {"Type": "type", "Enum": "enum"}.get(violation.kind)
    word = word or violation.kind[:1].lower() + violation.kind[1:]
    return describe({word: next(iter(violation.detail.values()), True)}, True)


def _misfit(
    root: Mapping[str, Any], place: Path, around: Mapping[str, Any], value: Any
) -> Iterator[Fault]:
    """The fault of a default or an example that its schema does not take."""
    is_default = place[-1] == "default"
    schema_at = place[:-1] if is_default else place[:-2]
    try:
        if compile_part(root, pointer(schema_at)).is_valid(value):
            return
    except BadSchemaError:
        return
    name = "default" if is_default else "example"
    wanted = with_article(describe(around, root))
    yield Fault(
        "bad-default" if is_default else "bad-example",
        f"the {name} must be {wanted}, not {shown(value)}",
        place,
        "leave it out: `required: false` makes it optional" if value is None else None,
        "error" if is_default else "warning",
    )
