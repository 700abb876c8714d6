"""References inside a schema: what they lead to, and whether following them ever ends."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolrt.core.faults import Fault, Path
from toolrt.core.names import did_you_mean
from toolrt.schemas.keywords import IN_PLACE
from toolrt.schemas.phrases import visible
from toolrt.schemas.shapes import resolve
from toolrt.schemas.validators import BadSchemaError, compile_validator

MOST_SCHEMAS = 20_000
_LONGEST_CHAIN = 200

Place = tuple[Path, Mapping[str, Any]]
"""A schema with a `$ref`, and where it stands."""


def ref_faults(root: Mapping[str, Any], places: Sequence[Place], *, has_ids: bool) -> list[Fault]:
    """The faults of the references of `root` that stand at `places`.

    Nothing is fetched: a reference leads to a place in `root`. Where it is not a plain pointer,
    or `$id` and anchors move things about, the validator's compiler is asked.
    """
    faults: list[Fault] = []
    doubtful: list[tuple[Path, str]] = []
    for path, schema in places:
        ref = schema["$ref"]
        if has_ids or not ref.startswith("#/"):
            doubtful.append((path, ref))
        elif not isinstance(resolve(root, ref), (dict, bool)):
            faults.append(_dangling(root, path, ref))
    if any(ref != "#" for _, ref in doubtful):
        faults += _uncompiled(root, doubtful)
    return faults or list(_endless(root, places))


def _uncompiled(root: Mapping[str, Any], doubtful: list[tuple[Path, str]]) -> list[Fault]:
    try:
        compile_validator(root)
    except BadSchemaError as error:
        if error.violation.kind != "Referencing":
            return []
        named = [one for one in doubtful if one[1].lstrip("#") in error.message]
        return [_dangling(root, path, ref) for path, ref in named or doubtful]
    return []


def _dangling(root: Mapping[str, Any], path: Path, ref: str) -> Fault:
    where = (*path, "$ref")
    if not ref.startswith("#"):
        message = f"`{visible(ref)}` is outside this schema, and nothing is fetched"
        return Fault("bad-ref", message, where, "copy it under `$defs` and write `#/$defs/NAME`")
    known = [f"#/{word}/{name}" for word in ("$defs", "definitions") for name in root.get(word, ())]
    return Fault(
        "bad-ref", f"there is no `{visible(ref)}` in this schema", where, did_you_mean(ref, known)
    )


def _endless(root: Mapping[str, Any], places: Sequence[Place]) -> Iterator[Fault]:
    following = _Following(root)
    for path, schema in places:
        where = (*path, "$ref")
        try:
            cost = following.cost(schema)
        except _LoopError:
            message = "following this reference leads back here and never to a value"
            yield Fault(
                "ref-loop", message, where, "refer to it from inside `properties` or `items`"
            )
            return
        if cost > MOST_SCHEMAS:
            message = f"following references from here gives more than {MOST_SCHEMAS:,} schemas"
            yield Fault("schema-too-large", message, where)
            return


class _LoopError(Exception):
    """The same schema again for the same value."""


class _Following:
    """How many schemas one value meets, references followed; each is worked out once."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.known: dict[int, int] = {}
        self.open: set[int] = set()

    def cost(self, schema: Any) -> int:
        if not isinstance(schema, dict):
            return 1
        key = id(schema)
        if key in self.open:
            raise _LoopError
        if key not in self.known:
            self.open.add(key)
            self.known[key] = self._sum(schema)
            self.open.discard(key)
        return self.known[key]

    def _sum(self, schema: Mapping[str, Any]) -> int:
        if len(self.open) > _LONGEST_CHAIN:
            return MOST_SCHEMAS + 1
        return 1 + sum(self.cost(part) for part in self._in_place(schema))

    def _in_place(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        if "$ref" in schema:
            yield resolve(self.root, schema["$ref"])
        for word in IN_PLACE & schema.keys():
            part = schema[word]
            if isinstance(part, list):
                yield from part
            elif word == "dependentSchemas" and isinstance(part, dict):
                yield from part.values()
            else:
                yield part
