"""docs/python.md says what the Python API is: names, parameters, fields, annotations."""

import ast
import datetime as dt
import functools
import inspect
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pages
import pytest
import transcripts
from pydantic import Field

import toolrt
import toolrt.testing
from toolrt.core.faults import FaultError
from toolrt.core.marks import OPTIONS
from toolrt.manifest import planned
from toolrt.schemas.functions import describe_function

PAGE = "python.md"
PARAMETERS: list[tuple[str, Callable[..., Any]]] = [
    ("`toolrt.open`", toolrt.open),
    ("`toolrt.run`", toolrt.run),
    ("`toolrt.ToolError`", toolrt.ToolError),
    ("`toolrt.Caller`", toolrt.Caller),
]


def first(title: str) -> list[str]:
    """The first column of a section's table."""
    return [row[0] for row in pages.rows(PAGE, title)]


def test_every_public_name_is_told() -> None:
    told = {row[0].removeprefix("toolrt.") for row in pages.tables(PAGE, "The Python API")[0]}

    assert {name.strip("`").removeprefix("toolrt.") for name in told} == {
        *toolrt.__all__,
        "testing",
    } - {"__version__"}


@pytest.mark.parametrize(("title", "fn"), PARAMETERS, ids=[title for title, _ in PARAMETERS])
def test_every_parameter_is_told_with_its_default(title: str, fn: Callable[..., Any]) -> None:
    told = {name: default for name, default, *_ in pages.rows(PAGE, title)}
    parameters = inspect.signature(fn).parameters

    assert list(told) == list(parameters)
    assert {name: is_default(told[name], each.default) for name, each in parameters.items()} == (
        dict.fromkeys(parameters, True)
    )


def is_default(told: str, default: object) -> bool:
    """Whether a cell says what a parameter has when nothing is given; words stand for None."""
    if told == "required":
        return default is inspect.Parameter.empty
    try:
        value = ast.literal_eval(told)
    except (SyntaxError, ValueError):
        return default is None
    return value == default or (value == {} and not isinstance(default, str | tuple))


@pytest.mark.anyio
async def test_every_parameter_of_a_call_is_told() -> None:
    async with toolrt.testing.open_files({"tools.d/t.yaml": "tools: {}"}) as rt:
        assert first("`rt.call`") == list(inspect.signature(rt.call).parameters)
        assert set(inspect.signature(rt.preview).parameters) <= set(first("`rt.call`"))
        assert (rt.snapshot.tools, rt.findings) == ({}, [])
        assert rt.project.is_dir()


@pytest.mark.anyio
async def test_what_is_told_of_rules_people_and_reloads_is_there() -> None:
    rows = pages.tables(PAGE, "Rules, people, reloads")[0]
    told = [call for row in rows for call in re.findall(r"\.(\w+)\(([^)]*)\)", row[0])]
    async with toolrt.testing.open_files({"tools.d/t.yaml": "tools: {}"}) as rt:
        there = {name: getattr(rt, name, None) or getattr(rt.approvals, name) for name, _ in told}

    assert {"explain", "approve", "deny", "run", "reload", "on_reload"} <= there.keys()
    for name, options in told:
        parameters = inspect.signature(there[name]).parameters
        assert set(re.findall(r"(\w+)=", options)) <= parameters.keys(), name


def test_every_field_of_a_result_is_told() -> None:
    assert first("`toolrt.ToolResult`") == list(toolrt.ToolResult._fields)


def test_every_field_of_a_failure_is_told() -> None:
    assert first("`toolrt.Failure`") == [field.name for field in fields(toolrt.Failure)]


def test_every_member_of_the_context_is_told() -> None:
    told = {name.partition("(")[0]: name for name in first("`toolrt.Context`")}

    assert set(told) == {name for name in vars(toolrt.Context) if name[0] != "_"}
    for name, written in told.items():
        if "(" in written:
            _, *parameters = inspect.signature(getattr(toolrt.Context, name)).parameters
            assert written == f"{name}({', '.join(parameters)})"


def test_every_option_of_the_decorator_is_told_and_whether_it_works() -> None:
    told = {
        option: now
        for options, now in pages.tables(PAGE, "`@toolrt.tool`")[0]
        for option in pages.code(options)
    }

    assert told == {
        option: "not yet" if option in planned.TOOL else "yes" for option in sorted(OPTIONS)
    }


def test_everything_for_tests_is_told() -> None:
    told = [name for row in pages.tables(PAGE, "Testing")[0] for name in pages.code(row[0])]

    assert sorted(name.partition("(")[0] for name in told) == toolrt.testing.__all__


def annotations() -> list[tuple[str, str, str, str]]:
    """Each annotation of the table with what the model sees, sends, and what the function gets."""
    told = pages.tables(PAGE, "Annotations")[0]
    return [
        (one, *map(pages.bare, rest))
        for annotation, *rest in told
        for one in pages.code(annotation)
    ]


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the annotations of the page refer to: its own types, and those of the library."""
    blocks = transcripts.blocks(pages.text(PAGE))
    shapes = next(block for _, block in blocks if block.startswith("# shapes.py\n"))
    made: dict[str, Any] = {"__name__": "shapes"}
    exec(shapes, made)
    library = {each.__name__: each for each in (Decimal, Path, UUID)}
    times = {name: getattr(dt, name) for name in ("UTC", "date", "datetime", "time", "timedelta")}
    written = {"Annotated": Annotated, "Any": Any, "Field": Field, "Literal": Literal}
    return {**made, **library, **times, **written, "Sequence": Sequence}


@pytest.mark.parametrize(
    ("annotation", "seen", "sent", "got"), annotations(), ids=[row[0] for row in annotations()]
)
def test_an_annotation_is_what_the_table_says(
    annotation: str, seen: str, sent: str, got: str, names: dict[str, Any]
) -> None:
    def tool(x, other=None):  # the second one keeps a record from being unfolded
        return x

    tool.__annotations__["x"] = eval(annotation, names)
    described = describe_function(tool, pages.ROOT)
    schema = described.input_schema["properties"]["x"]
    if "$ref" in schema:
        schema = described.input_schema["$defs"][schema["$ref"].rpartition("/")[2]]
    args, kwargs = described.bind({"x": json.loads(sent)})

    assert schema == json.loads(seen)
    value, told = tool(*args, **kwargs), eval(got, names)
    assert (type(value), value) == (type(told), told)


@dataclass
class Record:
    x: int


class Holder:
    def method(self, x: int): ...


def no_default(x: int): ...
def a_default(x: int = 1): ...
def a_none(x: int = None): ...  # noqa: RUF013 - the row's subject
def no_annotation(x): ...
def one_record(record: Record): ...
def star_args(*names: str): ...
def star_kwargs(**more: str): ...
def injected(call: toolrt.Context, x: int): ...
def two(x: int, y: int): ...


X, OPEN = {"x": {"type": "integer"}}, {"additionalProperties": {"type": "string"}}
SIGNATURES: dict[str, list[tuple[Callable[..., Any], dict[str, Any]]]] = {
    "no default": [(no_default, {"properties": X, "required": ["x"]})],
    "a default": [(a_default, {"properties": {"x": {"type": "integer", "default": 1}}})],
    "a default of `None`": [
        (a_none, {"properties": {"x": {"anyOf": [X["x"], {"type": "null"}], "default": None}}})
    ],
    "no annotation": [(no_annotation, {"properties": {"x": {}}, "required": ["x"]})],
    "one parameter only, a record without a default": [
        (one_record, {"properties": X, "required": ["x"]})
    ],
    "*names: str": [
        (star_args, {"properties": {"names": {"type": "array", "items": {"type": "string"}}}})
    ],
    "**more: str": [(star_kwargs, {"properties": {}, **OPEN})],
    "toolrt.Context": [(injected, {"properties": X, "required": ["x"]})],
    "`self`, what `functools.partial` has filled": [
        (Holder().method, {"properties": X, "required": ["x"]}),
        (functools.partial(two, y=1), {"properties": X, "required": ["x"]}),
    ],
}


def test_a_signature_is_what_the_table_says() -> None:
    told = [pages.bare(row[0]) for row in pages.tables(PAGE, "Annotations")[1]]

    assert told == list(SIGNATURES)
    for fn, schema in (pair for pairs in SIGNATURES.values() for pair in pairs):
        made = describe_function(fn, pages.ROOT).input_schema
        assert made == {"type": "object", "additionalProperties": False, **schema}


@pytest.mark.parametrize("annotation", [Callable[[int], int], type[int], range])
def test_what_json_cannot_carry_needs_a_default(annotation: Any) -> None:
    def tool(x):
        return x

    tool.__annotations__["x"] = annotation
    with pytest.raises(FaultError, match="has no JSON form"):
        describe_function(tool, pages.ROOT)
    tool.__defaults__ = (None,)

    assert describe_function(tool, pages.ROOT).input_schema["properties"] == {}
