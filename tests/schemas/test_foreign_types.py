"""Types and defaults that run code of their own: one fault that names the parameter, or no harm."""

import re

import pytest

from toolrt.core.faults import FaultError
from toolrt.schemas.functions import describe_function

RAISING = """
class Meta(type):
    def __{0}__(cls, *args): raise ImportError("no {0}")
class Odd(metaclass=Meta): pass
def fn(a: Odd): ...
"""
SOURCES = {
    "a pattern that looks ahead": (
        "def fn(a: Annotated[str, Field(pattern='(?=a)b')]): ...",
        "`str` has no JSON form (its pattern is refused: look-around",
    ),
    "Self": ("def fn(a: typing.Self): ...", "`Self` says nothing in a parameter"),
    "Self inside": ("def fn(a: list[typing.Self]): ...", "`Self` says nothing in a parameter"),
    "a text that raises": ("def fn(a: '1/0'): ...", "ZeroDivisionError: division by zero"),
    "a text that ends all": ("def fn(a: 'exit()'): ...", "SystemExit"),
    "a thousand levels": (
        "T = str\nfor _ in range(1000): T = list[T]\ndef fn(a: T): ...",
        "nested deeper than 64 levels",
    ),
    "two to the thousandth parts": (
        "T = int\nfor _ in range(60): T = dict[T, T]\ndef fn(a: T): ...",
        "more than 2,000 parts",
    ),
    "a hook that raises": (
        (
            "class Odd:\n    @classmethod\n    def __get_pydantic_core_schema__(cls, *args):\n"
            "        raise ImportError('no schema')\ndef fn(a: Odd): ..."
        ),
        "ImportError: no schema",
    ),
    "a record with a text that raises": (
        "@dataclass\nclass Odd:\n    x: '1/0'\ndef fn(a: Odd): ...",
        "`Odd` has no JSON form (ZeroDivisionError",
    ),
    "a repr that raises": (
        (
            "class Odd:\n    def __repr__(self): raise ImportError\n"  # no class, so its repr is shown
            "def fn(a): ...\nfn.__annotations__['a'] = Odd()"
        ),
        "its type has no JSON form",
    ),
    **{
        f"a metaclass whose {name} raises": (RAISING.format(name), "parameter `a` of `fn`")
        for name in ("getattr", "getattribute", "hash", "instancecheck", "eq", "subclasscheck")
    },
}
HEADER = "import typing\nfrom typing import *\nfrom dataclasses import dataclass\nfrom pydantic import *\n"


def function(source):
    scope = {"__name__": __name__}
    exec(compile(HEADER + source, "odd.py", "exec"), scope)
    return scope["fn"]


@pytest.mark.parametrize(("source", "why"), SOURCES.values(), ids=SOURCES)
def test_a_type_that_cannot_be_read_is_one_fault_of_its_parameter_with_a_remedy(source, why):
    with pytest.raises(FaultError) as raised:
        describe_function(function(source))

    [fault] = [each for each in raised.value.faults if each.severity == "error"]
    assert fault.code == "unsupported-parameter"
    assert re.match(r"parameter `a` of `fn` \(odd\.py:\d+\)", fault.message)
    assert why in fault.message
    assert fault.hint
    assert "0x" not in fault.message


DEFAULTS = {
    "infinite": "def fn(a: float = float('inf')): ...",
    "infinite inside": "def fn(a: list[float] = [float('-inf')]): ...",
    "infinite by Field": "def fn(a: float = Field(float('nan'))): ...",
    "endless": "def fn(a: int = 10 ** 5000): ...",
    "in itself": "d = []\nd.append(d)\ndef fn(a: list = d): ...",
    "of a repr that raises": "class E:\n    def __repr__(self): 1/0\ndef fn(a: str = E()): ...",
    "of an eq that raises": "class E:\n    def __eq__(self, o): 1/0\ndef fn(a: str = E()): ...",
    "of no class": "class E:\n    @property\n    def __class__(self): 1/0\ndef fn(a: str = E()): ...",
    "of every name": "class E:\n    def __getattr__(self, n): 1/0\ndef fn(a: str = E()): ...",
}


@pytest.mark.parametrize("source", DEFAULTS.values(), ids=DEFAULTS)
def test_a_default_that_json_cannot_carry_stays_in_python(source):
    made = describe_function(function(source))

    assert "default" not in made.input_schema["properties"]["a"]
    assert "required" not in made.input_schema


def test_an_infinite_default_of_a_field_in_a_record_stays_in_python():
    made = describe_function(
        function("class M(BaseModel):\n    x: float = float('inf')\ndef fn(a: M): ...")
    )

    assert made.input_schema["properties"]["x"] == {"title": "X", "type": "number"} or (
        "default" not in made.input_schema["properties"]["x"]
    )


def test_bare_generics_of_typing_are_arrays_and_objects():
    made = describe_function(function("def fn(a: List, b: Dict, c: Mapping, d: Sequence): ..."))

    kinds = {name: each["type"] for name, each in made.input_schema["properties"].items()}
    assert kinds == {"a": "array", "b": "object", "c": "object", "d": "array"}


SIGNATURES = {
    "def fn(a: str): ...\nfn.__wrapped__ = fn": "`__wrapped__` leads back to itself",
    "import functools\ndef g(a: str): ...\nfn = functools.partial(g, 1, 2)": "binds arguments",
    "class C:\n    def __call__(self, a: str): ...\n    def __getattr__(self, n): return C()\n"
    "fn = C()": "the signature of `C` cannot be read",
}


@pytest.mark.parametrize(("source", "why"), SIGNATURES.items())
def test_a_signature_that_leads_nowhere_says_why(source, why):
    with pytest.raises(FaultError) as raised:
        describe_function(function(source))

    [fault] = raised.value.faults
    assert (fault.code, fault.hint) == (
        "unreadable-signature",
        "write `parameters` in the manifest",
    )
    assert why in fault.message


def test_a_result_that_cannot_be_read_is_no_fault():
    for source in (
        "def fn() -> '1/0': ...",
        "T = str\nfor _ in range(1000): T = list[T]\ndef fn() -> T: ...",
    ):
        assert describe_function(function(source)).output_schema is None
