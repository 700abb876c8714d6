"""The shapes of Python code that sources name, each through a project's files (U33 to U44)."""

import importlib
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolrt
from toolrt.catalog.sources.methods import methods_of
from toolrt.catalog.sources.names import _why_refused
from toolrt.runtime import load
from toolrt.testing import write_files

KIT = '''
import functools
from dataclasses import dataclass
from typing import Callable

import toolrt

MADE = []


class Maths(toolrt.Toolkit):
    """Counts what it has done."""

    defaults = {"effect": "read"}

    def __init__(self, start: int = 0) -> None:
        MADE.append(start)
        self.done = start

    @toolrt.tool
    def add(self, a: int, b: int) -> int:
        """Add two numbers."""
        self.done += 1
        return a + b

    @toolrt.tool(name="minus", timeout="2s")
    async def subtract(self, a: int, b: int) -> int:
        """Take one from the other."""
        self.done += 1
        return a - b

    @toolrt.tool
    def count(self) -> int:
        """How much was done."""
        return self.done

    async def wait(self) -> str:
        """Waits."""
        return "waited"

    def spare(self) -> str:
        """Is there, too."""
        return "spare"


class Plain:
    """Nothing of it is marked."""

    def upper(self, text: str) -> str:
        """In capitals."""
        return text.upper()

    def bare(self, text):
        return text

    @staticmethod
    def still() -> str:
        """Needs no object."""
        return "still"

    @classmethod
    def of_class(cls) -> str:
        """Needs the class."""
        return cls.__name__

    @property
    def never(self) -> str:
        raise SystemExit("a property was asked")

    def _hidden(self) -> str:
        """Is for itself."""

    def setup(self) -> None:
        """Is called by toolrt."""


class Special(Plain):
    def upper(self, text: str) -> str:
        """In capitals, and special."""
        return f"{text.upper()}!"

    bare = None


class Adder:
    """Adds a number to another one."""

    def __init__(self, more: int) -> None:
        self.more = more

    def __call__(self, number: int) -> int:
        """Add to it."""
        return number + self.more


def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


@toolrt.tool(title="Half")
def half(number: float) -> float:
    """Half of it."""
    return number / 2


@toolrt.tool(name="third")
async def one_third(number: float) -> float:
    """A third of it."""
    return number / 3


def _private() -> None:
    """Is not for others."""


class Provider:
    """Gives its tools itself."""

    asked = 0

    def __init__(self, more: int = 1) -> None:
        self.adder = Adder(more)

    def get_tools(self):
        type(self).asked += 1
        return [multiply, self.adder, Plain().upper]

    def build_context(self) -> str:
        return "Prefer these."


class Unready:
    async def get_tools(self):
        return []


class Failing:
    def get_tools(self):
        raise SystemExit("no tools today")


class Needy:
    def get_tools(self, wanted):
        return []


class Single:
    def get_tools(self):
        return 5


class Asking:
    name, description = "asking", "Asks."

    @property
    def parameters(self):
        raise RuntimeError("who asks?")

    def run(self):
        """Runs."""


@dataclass
class Parameter:
    name: str
    type: str
    description: str
    required: bool = True
    default: object = None


class Look:
    """As MyCodeAgent has its tools."""

    name = "look"
    description = "Look for a pattern."

    def get_parameters(self):
        return [
            Parameter("pattern", "str", "What to look for."),
            Parameter("limit", "int", "How many.", required=False, default=3),
        ]

    def run(self, parameters):
        return dict(parameters)


class Ready:
    name = "ready-made"
    description = "Is a tool already."
    input_schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    async def execute(self, n: int) -> int:
        return n + 1


class Twins:
    @toolrt.tool(name="one")
    def first(self) -> int:
        """First."""

    @toolrt.tool(name="one")
    def second(self) -> int:
        """Second."""


class TripPlanner:
    """Plans trips."""

    role = "Planner"
    goal = "good trips"

    def do(self, request: str) -> str:
        """Do what is asked."""
        return f"planned {request}"


class Todo:
    def do(self, thing: str) -> str:
        """Do a thing."""
        return f"did {thing}"


class Odd:
    def good(self, a: int) -> int:
        """Good."""
        return a

    def takes_a_function(self, fn: Callable[[int], int]) -> int:
        """Cannot be called."""
        return fn(1)

    def generates(self):
        """Gives many values."""
        yield 1


maths, plain, look, ready, odd, asking = Maths(), Plain(), Look(), Ready(), Odd(), Asking()
double = functools.partial(multiply, 2)
plus_two = Adder(2)
several = [multiply, plus_two]
number = 5
'''


@pytest.fixture(autouse=True)
def _forget():
    yield
    for name in ("kit", "other_kit"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()


@pytest.fixture
def kit(folder):
    """A project with the module, and `made` of a file with sources."""

    def made(sources, **files):
        text = f"sources:\n{sources}"
        named = {f"tools.d/{name}.yaml": each for name, each in files.items()}
        return write_files(folder, {"kit.py": KIT, "tools.d/a.yaml": text, **named})

    return made


def tools(root):
    made = load(root)
    assert made.ok, made.diagnostics
    return dict(made.snapshot.tools)


def told(root):
    return [(one.code, one.severity) for one in load(root).diagnostics]


async def answers(root, *calls):
    async with toolrt.open(root) as runtime:
        results = [await runtime.call(name, arguments) for name, arguments in calls]
    return [result.data if result.status == "success" else result.error.code for result in results]


# -- the eight shapes ---------------------------------------------------------------------------


@pytest.mark.anyio
async def test_u34_a_tool_object_is_the_tool_that_it_says_it_is(kit):
    root = kit("  t: {python: 'kit:ready'}")
    entry = tools(root)["t.ready-made"]

    assert entry.description == "Is a tool already."
    assert entry.input_schema["required"] == ["n"]
    assert await answers(root, ("t.ready-made", {"n": 1})) == [2]


@pytest.mark.anyio
async def test_m1_a_tool_object_may_list_its_parameters_and_take_them_as_one_mapping(kit):
    root = kit("  t: {python: 'kit:look'}")

    assert tools(root)["t.look"].input_schema == {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "What to look for."},
            "limit": {"type": "integer", "description": "How many.", "default": 3},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    }
    assert await answers(root, ("t.look", {"pattern": "x"})) == [{"pattern": "x", "limit": 3}]


def test_m1_a_function_of_one_text_has_the_fixed_schema(folder):
    code = 'def echo(input: str) -> str:\n    """Say it again."""\n    return input\n'
    sources = "sources: {e: {python: 'other_kit:echo'}}"
    root = write_files(folder, {"other_kit.py": code, "tools.d/a.yaml": sources})

    assert tools(root)["e.echo"].input_schema == {
        "type": "object",
        "properties": {"input": {"type": "string"}},
        "required": ["input"],
        "additionalProperties": False,
    }


@pytest.mark.anyio
async def test_u37_a_function_and_a_bound_method_are_one_tool_each(kit):
    root = kit("  f: {python: 'kit:multiply'}\n  m: {python: 'kit:plain.upper'}")

    assert list(tools(root)) == ["f.multiply", "m.upper"]
    calls = ("f.multiply", {"a": 2, "b": 3}), ("m.upper", {"text": "a"})
    assert await answers(root, *calls) == [6, "A"]


@pytest.mark.anyio
async def test_u38_the_class_of_a_toolkit_is_made_once_when_a_call_needs_it(kit):
    root = kit("  maths: {python: {object: 'kit:Maths', init: {start: 7}}}")

    assert list(tools(root)) == ["maths.add", "maths.count", "maths.minus"]
    made = sys.modules["kit"].MADE
    assert made == [0]  # the one of the module
    calls = [("maths.add", {"a": 1, "b": 2}), ("maths.minus", {"a": 1, "b": 2})]
    assert await answers(root, *calls, ("maths.count", {})) == [3, -1, 9]
    assert made == [0, 7]


@pytest.mark.anyio
async def test_u38_an_object_of_a_toolkit_is_used_as_it_is(kit):
    root = kit("  maths: {python: 'kit:maths'}")

    calls = ("maths.add", {"a": 1, "b": 2}), ("maths.count", {})
    assert await answers(root, *calls) == [3, 1]


@pytest.mark.anyio
async def test_u39_a_provider_gives_its_tools_and_a_text_about_them(kit):
    root = kit("  p: {python: {object: 'kit:Provider', init: {more: 5}}}")
    found = tools(root)

    assert list(found) == ["p.Adder", "p.multiply", "p.upper"]
    assert {each.instructions for each in found.values()} == {"Prefer these."}
    assert await answers(root, ("p.Adder", {"number": 1})) == [6]


def test_u39_a_provider_that_is_async_is_told_so(kit):
    root = kit("  p: {python: 'kit:Unready'}")

    assert told(root) == [("no-tools", "error")]
    assert "is async" in load(root).diagnostics[0].message


def test_u41_all_public_methods_of_a_plain_object_are_tools_and_what_fails_is_reported(kit):
    root = kit("  plain: {python: 'kit:plain'}")

    assert list(tools(root)) == ["plain.bare", "plain.of_class", "plain.still", "plain.upper"]
    assert told(root) == [("no-description", "warning"), ("unannotated-parameter", "warning")]
    assert tools(root)["plain.bare"].description == "tool bare"


def test_u41_a_method_that_cannot_be_a_tool_is_an_error_that_names_it(kit):
    made = load(kit("  odd: {python: 'kit:odd'}"))

    assert [one.code for one in made.diagnostics] == ["unsupported-parameter", "unsupported-result"]
    for one, name in zip(made.diagnostics, ("takes_a_function", "generates"), strict=True):
        assert one.message.startswith(f"`odd.{name}`: ")
        assert "(kit.py:" in one.message
        assert (one.file, one.line) == ("tools.d/a.yaml", 2)


def test_u41_a_method_that_cannot_be_a_tool_may_be_taken_out(kit):
    root = kit("  odd: {python: 'kit:odd', exclude: [takes_a_function, generates]}")

    assert list(tools(root)) == ["odd.good"]


def test_u41_a_subclass_has_the_last_word(kit):
    root = kit("  s: {python: 'kit:Special'}")

    assert list(tools(root)) == ["s.of_class", "s.still", "s.upper"]
    assert tools(root)["s.upper"].description == "In capitals, and special."


@pytest.mark.anyio
async def test_d10_the_marked_functions_of_a_module_are_found(kit):
    root = kit("  kit: {python: kit}")

    assert list(tools(root)) == ["kit.half", "kit.third"]
    assert tools(root)["kit.half"].title == "Half"
    assert await answers(root, ("kit.half", {"number": 5}), ("kit.third", {"number": 9})) == [
        2.5,
        3.0,
    ]


def test_u11_all_public_functions_of_a_module_need_no_decorator(kit):
    root = kit("  kit: {python: {object: kit, select: public}}")

    assert list(tools(root)) == ["kit.half", "kit.multiply", "kit.third"]


def test_a_list_of_a_module_is_all_that_is_in_it(kit):
    assert list(tools(kit("  l: {python: 'kit:several'}"))) == ["l.Adder", "l.multiply"]


@pytest.mark.anyio
async def test_fault_8_partials_and_objects_that_are_called_are_tools(kit):
    root = kit("  double: {python: 'kit:double'}\n  plus: {python: 'kit:plus_two'}")

    assert list(tools(root)) == ["double.double", "plus.plus_two"]
    calls = ("double.double", {"b": 4}), ("plus.plus_two", {"number": 4})
    assert await answers(root, *calls) == [8, 6]


@pytest.mark.anyio
async def test_u40_an_agent_is_asked_with_a_request(kit):
    root = kit("  a: {python: 'kit:TripPlanner'}\n  todo: {python: 'kit:Todo'}")
    found = tools(root)

    assert list(found) == ["a.ask_trip_planner", "todo.do"]
    assert found["a.ask_trip_planner"].description == (
        "Plans trips. Role: Planner. Goal: good trips."
    )
    calls = ("a.ask_trip_planner", {"request": "Rome"}), ("todo.do", {"thing": "it"})
    assert await answers(root, *calls) == ["planned Rome", "did it"]


# -- which methods ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("select: decorated", ["add", "count", "minus"]),
        ("select: public", ["add", "count", "minus", "spare", "wait"]),
        ("select: async", ["minus", "wait"]),
    ],
)
def test_u42_select_chooses_the_methods(kit, options, names):
    root = kit(f"  m: {{python: {{object: 'kit:Maths', {options}}}}}")

    assert [name.removeprefix("m.") for name in tools(root)] == names


def test_u42_a_toolkit_of_which_nothing_is_marked_says_what_to_do(kit):
    root = kit("  m: {python: {object: 'kit:Plain', select: decorated}}")
    (one,) = load(root).diagnostics

    assert (one.code, one.severity) == ("no-tools", "error")
    assert "mark some with @toolrt.tool" in one.hint


def test_u43_include_adds_to_what_is_marked_and_exclude_wins(kit):
    root = kit(
        "  m: {python: 'kit:Maths', include: ['s*', 'a*'], exclude: [add]}",
    )

    assert list(tools(root)) == ["m.count", "m.minus", "m.spare"]


@pytest.mark.parametrize("key", ["include", "exclude"])
def test_fault_9_a_typo_in_include_or_exclude_is_an_error(kit, key):
    root = kit(f"  m: {{python: 'kit:Maths', {key}: [cuont]}}")
    (one,) = load(root).diagnostics

    assert (one.code, one.severity, one.hint) == ("no-such-tool", "error", "did you mean `count`?")


def test_u44_what_a_file_lays_over_wins_over_a_toolkits_defaults_and_these_over_a_mark(kit):
    root = kit("  m: {python: 'kit:Maths', overrides: {add: {effect: write}}}")
    found = tools(root)

    assert (found["m.add"].effect, found["m.count"].effect) == ("write", "read")
    assert found["m.minus"].manifest.timeout.total == 2


def test_u44_null_in_an_override_resets_to_the_built_in(kit):
    root = kit("  m: {python: 'kit:Maths', overrides: {minus: {timeout: null, effect: null}}}")
    entry = tools(root)["m.minus"]

    assert (entry.manifest.timeout.total, entry.effect) == (60, "write")


def test_u12_a_key_that_no_tool_has_is_refused_in_the_defaults_of_a_toolkit():
    with pytest.raises(TypeError, match="no option `timeuot`: did you mean `timeout`"):
        type("Kit", (toolrt.Toolkit,), {"defaults": {"timeuot": "5s"}})


def test_u24_words_of_the_docstring_and_overrides_of_a_file_come_together(kit):
    root = kit(
        "  f: {python: 'kit:multiply', overrides: {multiply: {parameters: "
        "{a: {type: integer, description: First.}, b: integer}}}}"
    )

    assert tools(root)["f.multiply"].input_schema["properties"]["a"]["description"] == "First."


@pytest.mark.parametrize(
    ("python", "code"),
    [
        ("{object: 'kit:multiply', select: public}", "no-effect"),
        ("{object: 'kit:plain', init: {a: 1}}", "signature-drift"),
        ("{object: 'kit:Maths', init: {stat: 1}}", "signature-drift"),
        ("'kit:Nothing'", "import-failed"),
        ("nothing_there", "import-failed"),
        ("'kit:number'", "no-tools"),
        ("{object: kit, select: async}", "no-effect"),
        ("'kit:Failing'", "import-failed"),
        ("'kit:Needy'", "import-failed"),
        ("'kit:Single'", "no-tools"),
        ("'kit:asking'", "import-failed"),
    ],
)
def test_what_cannot_be_is_one_error_at_the_source(kit, python, code):
    found = {
        (one.code, one.severity, one.line)
        for one in load(kit(f"  s: {{python: {python}}}")).diagnostics
    }

    assert found == {(code, "error", 2)}


def test_u33_one_object_is_one_tool_and_the_second_is_told_with_both_places(kit):
    root = kit("  a: {python: 'kit:multiply'}", b="sources: {b: {python: 'kit:multiply'}}")
    (one,) = load(root).diagnostics

    assert (one.code, one.file) == ("duplicate-tool", "tools.d/b.yaml")
    assert "`b.multiply` (kit.py:" in one.message
    assert "`a.multiply` (tools.d/a.yaml:2)" in one.message


def test_u33_two_methods_of_one_name_are_told_with_both_places(kit):
    (one,) = load(kit("  t: {python: 'kit:Twins'}")).diagnostics

    assert one.code == "duplicate-tool"
    assert "`first` (kit.py:" in one.message
    assert "`second` (kit.py:" in one.message


def test_without_imports_nothing_is_known_and_nothing_is_wrong(kit):
    rules = "rules: [{id: r, decide: allow, tools: [m.add]}]"
    root = kit("  m: {python: 'kit:Maths', include: [cuont], overrides: {ad: {effect: read}}}")
    write_files(root, {"policies.d/p.yaml": rules})
    made = load(root, imports=False)

    assert made.diagnostics == []
    assert "kit" not in sys.modules


def test_u2_the_normaliser_gives_the_same_for_the_same(kit):
    root = kit("  m: {python: 'kit:maths'}")
    one, other = load(root), load(root)

    assert one.snapshot.tools.keys() == other.snapshot.tools.keys()
    for name, entry in one.snapshot.tools.items():
        assert entry.definition_hash == other.snapshot.tools[name].definition_hash


# -- reloads ------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_tools_of_a_source_that_has_not_changed_are_kept_at_a_reload(kit):
    root = kit("  m: {python: 'kit:Maths'}\n  p: {python: 'kit:Provider'}")
    async with toolrt.open(root) as runtime:
        before = runtime.snapshot.tools
        write_files(root, {"tools.d/b.yaml": "tools: {t: {description: T., command: [/bin/true]}}"})
        assert (await runtime.reload()).is_new
        after = runtime.snapshot.tools

    assert "t" in after
    assert all(after[name].checker is entry.checker for name, entry in before.items())
    assert sys.modules["kit"].Provider.asked == 1


@pytest.mark.anyio
async def test_a_toolkit_keeps_its_object_when_only_an_override_changes(kit):
    root = kit("  m: {python: 'kit:Maths'}")
    async with toolrt.open(root) as runtime:
        await runtime.call("m.add", {"a": 1, "b": 1})
        write_files(
            root,
            {"tools.d/a.yaml": "sources: {m: {python: 'kit:Maths', overrides: {add: {title: A}}}}"},
        )
        assert (await runtime.reload()).is_new
        assert (await runtime.call("m.count", {})).data == 1


@pytest.mark.anyio
async def test_a_module_that_was_broken_is_looked_at_again(kit, folder):
    root = kit("  o: {python: 'other_kit:fn'}\n  m: {python: 'kit:multiply'}")
    write_files(root, {"other_kit.py": "def fn() -> int:\n    'One.'\n    return 1\n"})
    async with toolrt.open(root) as runtime:
        write_files(root, {"tools.d/b.yaml": "sources: {n: {python: 'late_kit:fn'}}"})
        assert not (await runtime.reload()).is_accepted
        write_files(root, {"late_kit.py": "def fn() -> int:\n    'Two.'\n    return 2\n"})
        write_files(root, {"tools.d/b.yaml": "sources: {n: {python: 'late_kit:fn'}} # now"})
        assert (await runtime.reload()).is_accepted
        assert (await runtime.call("n.fn", {})).data == 2
    sys.modules.pop("late_kit", None)


@pytest.mark.anyio
async def test_run_in_process_finds_the_class_of_a_source_by_its_name(kit):
    root = kit(
        "  m: {python: {object: 'kit:Maths', init: {start: 5}}}\n"
        "defaults: {python: {run_in: process}}"
    )

    assert await answers(root, ("m.add", {"a": 1, "b": 1}), ("m.count", {})) == [2, 6]


# -- any name -----------------------------------------------------------------------------------


@given(st.text(min_size=1, max_size=12).filter(str.isidentifier))
def test_a_public_method_of_any_name_is_a_tool_or_is_told_of(name):
    def method(self):
        """Does."""

    found = [each.attribute for each in methods_of(type("Kit", (), {name: method}))]
    is_ours = name.startswith("_") or name in {"setup", "teardown", "get_tools", "build_context"}

    assert found == ([] if is_ours else [name])
    assert (_why_refused(name) is None) == (name.isascii())
