"""What a callable says about itself, and how checked arguments reach it."""

import collections.abc
import functools
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Union

import pytest
from pydantic import BaseModel, BeforeValidator, Field, RootModel, TypeAdapter, model_validator
from typing_extensions import TypedDict

from toolrt.core.context import Context
from toolrt.core.errors import RefusedError
from toolrt.core.faults import FaultError
from toolrt.schemas.annotations import is_plain, plain_schema
from toolrt.schemas.functions import describe_function

HERE = Path(__file__).parent


class Inner(BaseModel):
    """Inside."""

    title: str
    note: str = Field("", title="A note of its own")


class Outer(BaseModel):
    """Outside."""

    inner: Inner
    extra: list[Inner] = []


@dataclass
class Place:
    city: str
    days: int = 1


class Report(TypedDict):
    total: int


def forecast(city: str, days: int = 1, units: Literal["metric", "imperial"] = "metric"):
    """Forecast for a city.

    Up to 14 days ahead.

    Args:
        city: City name.
        days: Days ahead.
    """
    return city, days, units


def test_d3_signature_and_docstring_are_the_whole_schema():
    described = describe_function(forecast)

    assert described.name == "forecast"
    assert described.description == "Forecast for a city.\n\nUp to 14 days ahead."
    assert described.warnings == ()
    assert described.input_schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "City name."},
            "days": {"type": "integer", "default": 1, "description": "Days ahead."},
            "units": {"enum": ["metric", "imperial"], "type": "string", "default": "metric"},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_d12_function_without_parameters_takes_an_empty_object():
    described = describe_function(lambda: 1)

    assert described.input_schema == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }
    assert described.bind({}) == ((), {})


def test_u29_titles_go_but_a_property_called_title_stays():
    def fn(title: str, outer: Outer):
        return title, outer

    schema = describe_function(fn).input_schema
    inner = schema["$defs"]["Inner"]

    assert schema["properties"]["title"] == {"type": "string"}
    assert inner["properties"]["title"] == {"type": "string"}
    assert inner["properties"]["note"]["title"] == "A note of its own"
    assert "title" not in inner
    assert "title" not in schema["$defs"]["Outer"]


def test_description_of_the_type_wins_over_the_docstring():
    def fn(city: Annotated[str, Field(description="From the type.")], days: int):
        """Do.

        Args:
            city: From the docstring.
            days: Days.
        """

    properties = describe_function(fn).input_schema["properties"]

    assert properties["city"]["description"] == "From the type."
    assert properties["days"]["description"] == "Days."


def test_u29_kwargs_type_the_additional_properties():
    def typed(**more: int):
        return more

    def anything(**more):
        return more

    assert describe_function(typed).input_schema["additionalProperties"] == {"type": "integer"}
    assert describe_function(anything).input_schema["additionalProperties"] is True
    assert describe_function(anything).warnings == ()


def test_unannotated_parameter_takes_anything_and_is_a_warning():
    def fn(a, b: int = 1):
        return a, b

    described = describe_function(fn, HERE)

    assert described.input_schema["properties"]["a"] == {}
    (warning,) = described.warnings
    assert warning.code == "unannotated-parameter"
    assert warning.severity == "warning"
    assert "`a` of `fn` (test_functions.py:" in warning.message


def test_context_is_left_out_of_the_schema_and_passed_through():
    def fn(a: int, ctx: Context, other: Context | None = None):
        return a, ctx, other

    described = describe_function(fn)

    assert list(described.input_schema["properties"]) == ["a"]
    assert described.bind({"a": 1, "ctx": "made"}) == ((), {"a": 1, "ctx": "made"})


def test_u30_record_is_flattened_beside_a_context():
    def fn(ctx: Context, place: Place):
        return place

    described = describe_function(fn)

    assert described.input_schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "default": 1},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    args, kwargs = described.bind({"city": "Rome", "ctx": "made"})
    assert (args, kwargs) == ((), {"ctx": "made", "place": Place("Rome")})


def test_u30_record_that_may_be_left_out_is_not_flattened():
    def fn(place: Place | None = None):
        return place

    assert list(describe_function(fn).input_schema["properties"]) == ["place"]


def test_root_model_is_not_flattened():
    class Names(RootModel[list[str]]):
        pass

    def fn(names: Names):
        return names

    described = describe_function(fn)

    assert list(described.input_schema["properties"]) == ["names"]
    assert described.bind({"names": ["a"]})[1] == {"names": Names(["a"])}


@pytest.mark.parametrize(
    ("annotation", "default", "schema"),
    [
        (date, date(2026, 1, 31), {"format": "date", "type": "string", "default": "2026-01-31"}),
        (Path, Path("a"), {"type": "string", "default": "a"}),
        (set[int], frozenset({1}), {"items": {"type": "integer"}, "type": "array", "uniqueItems": True, "default": [1]}),
        (date, "soon", {"format": "date", "type": "string"}),
        (int, object(), {"type": "integer"}),
    ],
    ids=["date", "path", "set", "no date", "sentinel"],
)  # fmt: skip
def test_default_is_in_the_schema_when_it_has_a_json_form(annotation, default, schema):
    def fn(x=default):
        return x

    fn.__annotations__["x"] = annotation
    described = describe_function(fn)

    assert described.input_schema["properties"]["x"] == schema
    assert "required" not in described.input_schema


@pytest.mark.parametrize(
    "annotation",
    [
        str, int, float, bool, None, Any, object, list, dict, list[str], dict[str, Any],
        dict[str, int], list[dict[str, list[float]]], str | None, int | str | list[int],
        Literal["a"], Literal["a", "b"], collections.abc.Sequence[str],
        collections.abc.Mapping[str, int], collections.abc.Iterable[int],
    ],
    ids=str,
)  # fmt: skip
def test_plain_types_have_the_schema_that_pydantic_gives_them(annotation):
    annotation = type(None) if annotation is None else annotation

    assert plain_schema(annotation) == TypeAdapter(annotation).json_schema()


@pytest.mark.parametrize(
    "annotation",
    [
        date, bytes, set[str], tuple[int, int], dict[int, str], list[date], Inner, Place, Report,
        Literal[1], Annotated[int, BeforeValidator(int)], Annotated[str, Field(default="x")],
        int | date,
    ],
    ids=str,
)  # fmt: skip
def test_types_that_are_not_plain_json_are_converted(annotation):
    assert not is_plain(annotation)


def test_metadata_that_cannot_be_hashed_is_no_hindrance():
    def fn(a: Annotated[int, ["note"]], b: Annotated[date, {"x": 1}]):
        return a, b

    described = describe_function(fn)

    assert described.input_schema["properties"]["a"] == {"type": "integer"}
    assert described.bind({"a": 1, "b": "2026-01-31"})[1]["b"] == date(2026, 1, 31)


def test_plain_arguments_need_nothing_done():
    def fn(
        a: str, b: Annotated[int, Field(ge=1, description="B.")] = 1, *, c: list[str] | None = None
    ):
        return a, b, c

    assert describe_function(fn).adaptor.is_direct


def test_all_wrong_arguments_are_named_at_once():
    def fn(when: date, days: list[date], n: int):
        return when, days, n

    with pytest.raises(RefusedError) as error:
        describe_function(fn).bind({"when": "soon", "days": ["2026-01-31", "x"], "n": 1})

    assert error.value.code == "invalid-arguments"
    assert [each["pointer"] for each in error.value.details["faults"]] == ["/when", "/days/1"]
    assert error.value.message.startswith("`when`: input should be a valid date")
    assert error.value.hint == "correct `when`, `days[1]` and call again"


def test_wrong_field_of_a_flattened_record_is_named_by_itself():
    class Stay(BaseModel):
        since: date

    def fn(stay: Stay):
        return stay

    with pytest.raises(RefusedError) as error:
        describe_function(fn).bind({"since": "soon"})

    assert error.value.details["faults"][0]["pointer"] == "/since"


def test_record_that_does_not_hold_together_is_refused():
    class Range(BaseModel):
        low: int
        high: int

        @model_validator(mode="after")
        def ordered(self):
            if self.low > self.high:
                raise ValueError("low is above high")
            return self

    def fn(limits: Range):
        return limits

    with pytest.raises(RefusedError, match=r"^the arguments: low is above high$"):
        describe_function(fn).bind({"low": 2, "high": 1})


def test_wrong_value_of_kwargs_is_named_by_its_own_key():
    def fn(**days: date):
        return days

    with pytest.raises(RefusedError) as error:
        describe_function(fn).bind({"first": "soon"})

    assert error.value.details["faults"][0]["pointer"] == "/first"


def test_what_a_partial_has_bound_cannot_be_reached_through_kwargs():
    def fn(query: str, *, admin: bool = False, **more: str):
        return query, admin, more

    described = describe_function(functools.partial(fn, admin=False))
    with pytest.raises(RefusedError, match="`admin` is not an argument"):
        described.bind({"query": "q", "admin": "yes"})


def test_what_has_no_json_form_cannot_be_reached_through_kwargs():
    def fn(key: collections.abc.Callable[[int], int] = abs, **more: str):
        return key, more

    described = describe_function(fn)
    assert [fault.severity for fault in described.warnings] == ["warning"]
    with pytest.raises(RefusedError, match="`key` is not an argument"):
        described.bind({"key": "x"})


def test_a_model_of_its_own_config_says_how_its_bytes_are_written():
    class Upload(BaseModel):
        data: bytes

    def fn(upload: Upload, n: int):
        return upload, n

    described = describe_function(fn)

    assert described.input_schema["$defs"]["Upload"]["properties"]["data"]["format"] == "binary"
    assert described.bind({"upload": {"data": "aGk="}, "n": 1})[1]["upload"].data == b"aGk="


@pytest.mark.parametrize(
    ("returns", "is_told"),
    [(Inner, True), (Report, True), (list[Place], True), (Place | None, True), (str, False),
     (dict[str, Any], False), (None, False), (Any, False), (collections.abc.Callable, False)],
    ids=str,
)  # fmt: skip
def test_output_schema_is_told_when_it_names_fields(returns, is_told):
    def fn():
        pass

    fn.__annotations__["return"] = returns
    schema = describe_function(fn).output_schema

    assert (schema is not None) is is_told
    assert "title" not in (schema or {})


def test_output_schema_has_bytes_as_they_are_written():
    class Image(BaseModel):
        data: bytes

    def fn() -> Image:
        raise NotImplementedError

    fn.__annotations__["return"] = Image
    data = describe_function(fn).output_schema["properties"]["data"]

    assert data == {"type": "string", "contentEncoding": "base64"}


def test_u27_faults_and_warnings_come_together():
    class Opaque:
        pass

    def fn(a: Opaque, b, c: int):
        return a, b, c

    fn.__annotations__["a"] = Opaque
    with pytest.raises(FaultError) as error:
        describe_function(fn, HERE)

    assert [(f.code, f.severity) for f in error.value.faults] == [
        ("unannotated-parameter", "warning"),
        ("unsupported-parameter", "error"),
    ]


def test_class_documents_its_callable_objects():
    class Adder:
        """Adds things."""

        def __call__(self, n: int):
            return n

    class Silent:
        def __call__(self, n: int):
            """Says nothing."""
            return n

    assert describe_function(Adder()).description == "Adds things."
    assert describe_function(Silent()).description == "Says nothing."


def test_a_literal_of_bytes_has_no_json_form():
    def fn(mode: Literal[b"r", b"w"]) -> str:
        """Open."""
        return mode.decode()

    with pytest.raises(FaultError, match="has no JSON form"):
        describe_function(fn)


def test_the_members_of_a_union_are_told_as_written_whatever_was_read_before():
    """`typing` takes unions of the same members for one, and gives the one that it knows."""

    def one(a: Union[str, int], when: date, b: Union[str, int] = None) -> None: ...  # noqa: RUF013, UP007

    def other(a: Union[int, str], when: date, b: Union[int, str] = None) -> None: ...  # noqa: RUF013, UP007

    for fn, kinds in ((one, ["string", "integer"]), (other, ["integer", "string"])):
        properties = describe_function(fn).input_schema["properties"]
        assert [each["type"] for each in properties["a"]["anyOf"]] == kinds
        assert [each["type"] for each in properties["b"]["anyOf"]] == [*kinds, "null"]
