"""Records in a function's parameters: no field that was misspelt vanishes in silence."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Optional

import pydantic.dataclasses
import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, field_validator
from typing_extensions import TypedDict

from toolrt.core.errors import RefusedError
from toolrt.schemas.arguments import ArgumentChecker
from toolrt.schemas.functions import describe_function


@dataclass
class Place:
    city: str
    zip: int | None = None


class Address(TypedDict):
    city: str
    zip: int


class Spot(BaseModel):
    city: str
    zip: int | None = None


@pydantic.dataclasses.dataclass
class Site:
    city: str
    zip: int | None = None


class Node(BaseModel):
    city: str
    zip: int | None = None
    below: list["Node"] = []


@dataclass
class Branch:
    city: str
    zip: int | None = None
    below: "list[Branch]" = field(default_factory=list)


class OpenModel(BaseModel):
    model_config = ConfigDict(extra="allow")
    city: str


class OpenDict(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")
    city: str


@pydantic.dataclasses.dataclass(config=ConfigDict(extra="allow"))
class OpenSite:
    city: str


class Settings(RootModel[dict[str, int]]):
    pass


RECORDS = (Place, Address, Spot, Site, Node, Branch)


def taking(annotation: Any) -> Any:
    """A function with one parameter `to` of that type, and another one."""

    def plan(to: Any, days: int = 1) -> None:
        del to, days

    plan.__annotations__["to"] = annotation
    return plan


def refusal(fn: Any, arguments: dict[str, Any]) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        ArgumentChecker(describe_function(fn).input_schema).check(arguments)
    return caught.value


@pytest.mark.parametrize("record", RECORDS)
def test_a_misspelt_field_is_refused_with_the_right_one(record):
    error = refusal(taking(record), {"to": {"city": "Graz", "zp": 8010}})

    assert "there is no `zp` in `to` (did you mean `zip`?)" in error.message
    assert "rename `to.zp` to `zip`" in error.hint


@pytest.mark.parametrize(
    ("wrap", "value", "place"),
    [
        (list, [{"city": "Graz", "zip": 1}, {"city": "Graz", "zp": 1}], "to[1]"),
        (lambda record: dict[str, record], {"a": {"city": "Graz", "zp": 1}}, "to.a"),
        (Optional.__getitem__, {"city": "Graz", "zp": 1}, "to"),
        (lambda record: record | str, {"city": "Graz", "zp": 1}, "to"),
        (lambda record: Annotated[record, Field(description="x")], {"city": "G", "zp": 1}, "to"),
    ],
    ids=["list", "dict", "optional", "union", "annotated"],
)
@pytest.mark.parametrize("record", RECORDS)
def test_a_misspelt_field_is_found_wherever_the_record_stands(record, wrap, value, place):
    wanted = list[record] if wrap is list else wrap(record)
    error = refusal(taking(wanted), {"to": value})

    assert f"there is no `zp` in `{place}` (did you mean `zip`?)" in error.message


@pytest.mark.parametrize("record", [Node, Branch])
def test_a_misspelt_field_deep_inside_a_recursive_record_is_found(record):
    deep = {"city": "a", "below": [{"city": "b", "below": [{"city": "c", "zp": 1}]}]}
    error = refusal(taking(record), {"to": deep})

    assert "there is no `zp` in `to.below[0].below[0]` (did you mean `zip`?)" in error.message


@pytest.mark.parametrize("record", RECORDS)
def test_a_misspelt_field_of_a_flattened_record_is_an_unknown_argument(record):
    def plan(to: Any) -> None:
        del to

    plan.__annotations__["to"] = record
    error = refusal(plan, {"city": "Graz", "zp": 8010})

    assert "there is no `zp` (did you mean `zip`?)" in error.message


def test_a_required_field_that_was_misspelt_is_renamed():
    error = refusal(taking(Place), {"to": {"cty": "Graz"}})

    assert error.hint == "rename `to.cty` to `city` and call again"


def test_a_record_of_a_record_is_closed_too():
    class Trip(BaseModel):
        to: Place
        by: Literal["train", "bus"] = "train"

    error = refusal(taking(Trip), {"to": {"to": {"city": "Graz", "zp": 1}}})

    assert "there is no `zp` in `to.to` (did you mean `zip`?)" in error.message


@pytest.mark.parametrize("record", [OpenModel, OpenDict, OpenSite])
def test_a_record_that_allows_more_takes_more(record):
    described = describe_function(taking(record))
    arguments = {"to": {"city": "Graz", "zp": 8010}}

    assert ArgumentChecker(described.input_schema).check(arguments)["to"] == arguments["to"]


def test_a_root_model_is_no_record():
    described = describe_function(taking(Settings))
    arguments = {"to": {"any": 1}}

    assert ArgumentChecker(described.input_schema).check(arguments)["to"] == {"any": 1}


def test_what_a_function_returns_stays_open():
    def plan() -> Place:
        return Place("Graz")

    assert "additionalProperties" not in describe_function(plan).output_schema


def with_keywords(spot: Spot, *rest: slice) -> Spot:
    """What a spot is, beside what no model can send."""
    return spot


def with_a_default(spot: Spot, how: Callable[[], int] | None = None) -> Spot:
    """What a spot is, beside what no model can send."""
    return spot


@pytest.mark.parametrize("fn", [with_keywords, with_a_default])
def test_a_record_beside_a_parameter_that_is_left_out_is_one_argument(fn):
    made = describe_function(fn)
    assert list(made.input_schema["properties"]) == ["spot"]
    args, named = made.bind({"spot": {"city": "a"}})
    assert fn(*args, **named) == Spot(city="a")


class Small(BaseModel):
    size: int

    @field_validator("size")
    @classmethod
    def _is_small(cls, value: int) -> int:
        if value > 9:
            raise ValueError("Nothing over 9 fits")
        return value


def test_what_a_validator_of_the_users_own_says_is_said_as_it_is():
    def fn(small: Small, *rest: int) -> int:
        """What fits."""
        return small.size

    with pytest.raises(RefusedError) as refused:
        describe_function(fn).bind({"small": {"size": 10}})
    assert str(refused.value) == "`small.size`: Nothing over 9 fits"


def test_a_refusal_points_to_no_page_of_pythons():
    def fn(number: complex) -> str:
        """A number."""
        return str(number)

    with pytest.raises(RefusedError) as refused:
        describe_function(fn).bind({"number": "many"})
    assert "http" not in str(refused.value)
