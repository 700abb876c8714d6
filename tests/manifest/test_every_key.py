"""Each key of the language does what it says, or says that it does not yet; each fault has a place.

Cases are in `key_cases.py`; the keys that must have one are read off the models.
"""

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from manifest.key_case import (
    Later,
    Works,
    Wrong,
    diagnostics,
    found,
    left_out,
    opened,
    right,
    with_mark,
)
from manifest.key_cases import CASES, LATER, WORKS, WRONG
from pydantic import BaseModel

from toolrt.bindings.base import KINDS, kind
from toolrt.bindings.bubblewrap import Needs, program
from toolrt.manifest import planned
from toolrt.manifest.parameters import OWN_WORDS
from toolrt.manifest.policy import PoliciesFile
from toolrt.manifest.project import ProjectFile
from toolrt.manifest.target import Target
from toolrt.manifest.tool import ToolManifest, ToolsFile

SANDBOX = program(Needs(network=False, write=True))


def named(case: Works | Wrong | Later) -> str:
    return case.key.split()[0]


@pytest.fixture(autouse=True)
def _on_disk_where_it_must_be(request: pytest.FixtureRequest) -> None:
    if ".sandbox" in request.node.name:
        request.getfixturevalue("disk")


@pytest.mark.anyio
@pytest.mark.parametrize("case", WORKS, ids=named)
async def test_a_right_value_is_seen(case: Works) -> None:
    if ".sandbox" in case.key and SANDBOX.path is None:
        pytest.skip(f"no sandbox here: {SANDBOX.detail}")
    async with opened(right(case.files), held=case.held, secure=case.secure) as bench:
        assert [one.code for one in bench.diagnostics] == case.warned
        assert await case.look(bench) == case.seen
    if case.refused is not None:
        assert [code for _, code, *_ in found(left_out(case.files))] == [case.refused]
        return
    async with opened(left_out(case.files), held=case.held, secure=case.secure) as bench:
        without = await case.look(bench)
    assert without != case.seen
    assert case.without is ... or without == case.without


@pytest.mark.parametrize("case", WRONG, ids=named)
def test_a_wrong_value_is_one_error_at_its_place(case: Wrong) -> None:
    files, place = with_mark(case.files)

    assert found(files) == [("error", case.code, *place)]
    assert "Input should" not in diagnostics(files)[0].message


@pytest.mark.parametrize("case", LATER, ids=named)
def test_a_key_of_a_later_part_is_one_warning_that_names_it(case: Later) -> None:
    files, place = with_mark(case.files)

    assert found(files) == [(case.severity, case.code, *place)]
    assert f"`{case.named}" in diagnostics(files)[0].message


PARAMETER_WORDS = {"type", "description", "default", "required", "enum", "format", *OWN_WORDS}
MODELS: list[tuple[str, type[BaseModel]]] = [
    ("tool", ToolManifest),
    *((name, kind(name).spec) for name in KINDS),
    ("target", Target),
    ("file", ToolsFile),
    ("policies", PoliciesFile),
    ("project", ProjectFile),
]


def keys() -> set[str]:
    """Every key that a user may write, such as `tool.timeout.attempt`.

    What may stand in several places is listed where it is met first.
    """
    listed = {f"parameter.{word}" for word in PARAMETER_WORDS} | {"file.x-", "project.x-"}
    seen = {model for _, model in MODELS}
    todo = list(MODELS)
    for prefix, model in todo:
        for name, field in model.model_fields.items():
            key = f"{prefix}.{field.alias or name}"
            listed.add(key)
            inner = [each for each in models_in(field.annotation) if each not in seen]
            seen.update(inner)
            todo += [(key, each) for each in inner]
    return listed


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from models_in(inner)


def told(cases: list[Any]) -> set[str]:
    return {key for case in cases for key in case.key.split()}


SEEN_ELSEWHERE = {"project.journal.mode", "project.journal.retention"}
"""What these change is seen by the tests of the journal itself."""


def test_every_key_has_a_right_and_a_wrong_value() -> None:
    assert keys() - told([*WORKS, *LATER]) == SEEN_ELSEWHERE
    assert keys() - told(WRONG) == set()
    assert told(CASES) - keys() == set()


def is_planned(key: str) -> bool:
    """Whether the tables say that a key does nothing yet, or one above it does."""
    first, _, rest = key.partition(".")
    tables = {
        "file": planned.TOOLS_FILE,
        "target": [each.removeprefix("targets.*.") for each in planned.TOOLS_FILE],
        "policies": planned.POLICIES_FILE,
        "project": planned.PROJECT_FILE,
        "tool": planned.TOOL,
    }
    later = tables.get(
        first, [each.partition(".")[2] for each in planned.TOOL if f"{first}." in each]
    )
    plain = (each.replace(".*", "") for each in later if each)
    return any(f"{rest}.".startswith(f"{each}.") for each in plain)


def test_what_is_seen_to_work_is_not_planned_and_the_rest_is() -> None:
    """Of some keys one value works and another does not."""
    later = {key for key in keys() if is_planned(key)}
    half = told([case for case in LATER if case.code != "not-yet"])
    half |= {"project.builtins"}

    assert told(LATER) - half == later
    assert told(WORKS) & later == set()
