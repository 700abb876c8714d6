"""What the product owes of normalising, row by row, where no other file of this folder shows it."""

import subprocess
import sys
import threading

import pytest
from schemas.test_awkward_signatures import RIGHT, WRONG

import toolrt
from toolrt.catalog.sources.base import ORIGINS
from toolrt.core.context import Context
from toolrt.runtime import load
from toolrt.testing import stubbed, write_files

pytestmark = pytest.mark.anyio
TOOL = "tools: {t: {description: T., tags: [x], command: [/bin/true]}}"


class Kit(toolrt.Toolkit):
    @toolrt.tool(title="Add")
    def add(self, a: int, b: int = 2) -> int:
        """Add two numbers.

        Args:
            a: The first.
        """
        return a + b

    @toolrt.tool
    def nothing(self) -> str:
        """Takes nothing."""
        return "done"

    @toolrt.tool
    async def waits(self, a: int) -> int:
        """Waits."""
        return a


@pytest.fixture
async def runtime(folder):
    write_files(folder, {"tools.d/a.yaml": TOOL})
    async with toolrt.open(folder) as opened:
        yield opened


async def exported(runtime):
    return (await runtime.export("openai")).documents


async def test_r2_tools_are_registered_found_and_deregistered(runtime):
    assert await runtime.add(Kit()) == ["kit.add", "kit.nothing", "kit.waits"]
    assert runtime.snapshot.tools["kit.add"].description == "Add two numbers."
    listed = [each.name for each in await runtime.listed()]
    assert listed == ["kit.add", "kit.nothing", "kit.waits", "t"]
    assert await runtime.remove("kit") == ["kit.add", "kit.nothing", "kit.waits"]


async def test_r3_files_sources_and_programs_are_three_ways_in(folder):
    files = {
        "kit_of_rows.py": "def fn() -> int:\n    'One.'\n    return 1\n",
        "tools.d/a.yaml": "namespace: a\n" + TOOL,
        "tools.d/b.yaml": "sources: {b: {python: 'kit_of_rows:fn'}}",
    }
    async with toolrt.open(write_files(folder, files)) as runtime:
        await runtime.add(Kit(), name="c")

        assert {each.namespace for each in runtime.snapshot.tools.values()} == {"a", "b", "c"}


async def test_r4_namespace_and_tags_of_a_source_are_those_of_any_tool(runtime):
    await runtime.add(Kit(), overrides={"add": {"tags": ["x"]}})
    entry = runtime.snapshot.tools["kit.add"]

    assert (entry.namespace, entry.tags) == ("kit", ["x"])


async def test_u1_the_outside_knows_one_object(runtime):
    assert await runtime.add(Kit()) == ["kit.add", "kit.nothing", "kit.waits"]
    assert (await runtime.call("kit.add", {"a": 1})).data == 3
    assert await runtime.remove("kit.add") == ["kit.add"]


async def test_u2_normalising_leaves_what_is_in_force_alone(runtime):
    before = runtime.snapshot
    load(runtime.project)

    assert runtime.snapshot is before


async def test_u3_what_is_called_is_swapped_without_the_schema(runtime):
    await runtime.add(Kit())
    schema = runtime.snapshot.tools["kit.add"].input_schema
    with stubbed(runtime, {"kit.add": lambda arguments: arguments["a"]}):
        assert (await runtime.call("kit.add", {"a": 7})).data == 7
        assert runtime.snapshot.tools["kit.add"].input_schema == schema
    assert (await runtime.call("kit.add", {"a": 7})).data == 9


async def test_u4_a_tool_of_a_source_goes_through_the_whole_pipeline(folder):
    rules = "rules: [{id: r, decide: ask, tools: [kit.add]}]\ndefault: allow"
    root = write_files(folder, {"tools.d/a.yaml": TOOL, "policies.d/p.yaml": rules})
    async with toolrt.open(root) as runtime:
        await runtime.add(Kit())

        assert (await runtime.call("kit.add", {"a": "1"})).error.code == "invalid-arguments"
        assert (await runtime.call("kit.add", {"a": 1})).status == "paused"


async def test_u7_a_definition_is_dead_data(runtime):
    await runtime.add(Kit())
    (one,) = [one for one in await exported(runtime) if one["function"]["name"] == "kit_add"]

    assert set(one) == {"type", "function"}
    assert list(one["function"]["parameters"]["properties"]) == ["a", "b"]


async def test_u9_what_a_tool_is_made_of_can_be_seen(runtime):
    await runtime.add(Kit())
    entry = runtime.snapshot.tools["kit.waits"]

    assert (entry.kind, entry.source, entry.effect) == ("python", "kit", "write")
    assert str(entry.layered.merged["python"]["object"]) == f"{__name__}:Kit"


@pytest.mark.parametrize("name", ["mcp", "openapi", "python"])
def test_u87_modules_of_an_origin_are_loaded_when_a_source_needs_them(folder, name):
    write_files(folder, {"tools.d/a.yaml": TOOL})
    code = (
        "import sys; from toolrt.runtime import load; "
        f"made = load({str(folder)!r}); assert made.ok; "
        f"assert {ORIGINS[name]!r} not in sys.modules; "
        "assert 'toolrt.catalog.sources.shapes' not in sys.modules; assert 'mcp' not in sys.modules"
    )

    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


async def test_u24_the_words_about_a_parameter_come_from_the_docstring(runtime):
    await runtime.add(Kit())

    properties = runtime.snapshot.tools["kit.add"].input_schema["properties"]
    assert properties["a"]["description"] == "The first."


async def test_u32_a_schema_that_is_written_wins_over_the_signature(runtime):
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 5}}}
    await runtime.add(Kit(), overrides={"add": {"input_schema": schema | {"required": ["a"]}}})

    assert (await runtime.call("kit.add", {"a": 1})).error.code == "invalid-arguments"
    assert (await runtime.call("kit.add", {"a": 5})).data == 7


async def test_u36_a_server_as_a_file_would_write_it_can_be_added(runtime):
    said = {"mcp": {"command": ["python", "no_such_server.py"]}, "on_failure": "degrade"}

    await runtime.add(said, name="notes")
    assert any(each.name == "notes" for each in runtime.reloader.files.tool_sources)
    await runtime.remove(said)
    assert not runtime.reloader.files.tool_sources


async def test_u89_a_call_of_a_plain_function_does_not_hold_the_loop(runtime):
    def where() -> bool:
        """Where this runs."""
        return threading.current_thread() is threading.main_thread()

    await runtime.add(where)
    assert (await runtime.call("where", {})).data is False


async def test_d1_name_entry_and_schema_are_written_once(runtime):
    def shout(text: str) -> str:
        """In capitals."""
        return text.upper()

    await runtime.add(shout)
    entry = runtime.snapshot.tools["shout"]
    assert (entry.name, entry.description) == ("shout", "In capitals.")
    assert entry.input_schema["properties"] == {"text": {"type": "string"}}


def test_d2_the_decorator_gives_the_function_back():
    def fn() -> None: ...

    assert toolrt.tool(fn) is fn
    assert toolrt.tool(title="Fn")(fn) is fn


async def test_d3_without_docstring_or_annotation_there_is_a_tool_and_a_warning(runtime):
    def add_up(a, b=1):
        return a + b

    await runtime.add(add_up)
    entry = runtime.snapshot.tools["add_up"]
    assert entry.description == "tool add_up"
    assert entry.input_schema["required"] == ["a"]
    codes = sorted(each.fault.code for each in runtime.findings)
    assert codes == ["no-description", "unannotated-parameter", "unannotated-parameter"]


async def test_d4_d5_d6_schemas_have_no_titles_and_no_self(runtime):
    await runtime.add(Kit())
    schema = runtime.snapshot.tools["kit.add"].input_schema

    assert "title" not in str(schema)
    assert list(schema["properties"]) == ["a", "b"]


async def test_d6_a_parameter_that_is_really_called_self_is_kept(runtime):
    def point(self: str, cls: int = 1) -> str:
        """Point at oneself."""
        return f"{self}{cls}"

    await runtime.add(point)
    assert (await runtime.call("point", {"self": "me"})).data == "me1"


async def test_d7_get_list_export_and_execute_are_there(runtime):
    await runtime.add(Kit())

    assert "kit.add" in runtime.snapshot.tools
    assert "kit.add" in [each.name for each in await runtime.listed()]
    assert "kit_add" in [one["function"]["name"] for one in (await exported(runtime))]
    assert (await runtime.call("kit.add", {"a": 1})).data == 3


async def test_d8_arguments_are_checked_before_the_call(runtime):
    called = []

    def note(n: int) -> None:
        """Note it."""
        called.append(n)

    await runtime.add(note)
    assert (await runtime.call("note", {"n": "1"})).error.code == "invalid-arguments"
    assert called == []


async def test_d9_an_unknown_tool_is_told_with_the_nearest_name(runtime):
    await runtime.add(Kit())
    error = (await runtime.call("kit.ad", {"a": 1})).error

    assert error.code == "unknown-tool"
    assert "kit.add" in f"{error.message} {error.hint}"


async def test_d11_another_signature_is_another_schema(runtime):
    def made(annotation):
        def fn(a) -> int:
            """One."""
            return 1

        fn.__annotations__["a"] = annotation
        return fn

    for annotation, kind in ((int, "integer"), (str, "string")):
        fn = made(annotation)
        await runtime.add(fn)
        assert runtime.snapshot.tools["fn"].input_schema["properties"]["a"]["type"] == kind
        await runtime.remove(fn)


async def test_d12_a_tool_without_parameters_takes_an_empty_object(runtime):
    await runtime.add(Kit())

    assert (await runtime.call("kit.nothing", {})).data == "done"
    assert (await runtime.call("kit.nothing", {"a": 1})).error.code == "invalid-arguments"


async def test_a_context_is_injected_into_a_method_of_a_source(runtime):
    class Told:
        def who(self, context: Context) -> str:
            """Who calls."""
            return context.tool

    await runtime.add(Told())
    assert (await runtime.call("told.who", {})).data == "told.who"


@pytest.mark.parametrize(("fn", "properties", "arguments", "expected", "refused"), RIGHT)
async def test_an_awkward_signature_is_right_as_a_source(
    runtime, fn, properties, arguments, expected, refused
):
    await runtime.add(fn, name="it")
    schema = runtime.snapshot.tools["it"].parameters.schema

    assert {name: schema["properties"][name] for name in properties} == properties
    error = (await runtime.call("it", arguments)).error
    assert error is None or error.code == "bad-response"  # it gives back what JSON cannot carry
    for wrong in refused:
        assert (await runtime.call("it", wrong)).error.code in {
            "invalid-arguments",
            "missing-arguments",
        }
    del expected


@pytest.mark.parametrize(("fn", "code", "message", "hint"), WRONG)
async def test_an_awkward_signature_gets_one_clear_diagnostic_as_a_source(
    runtime, fn, code, message, hint
):
    anywhere = message.replace(r"\(test_", r"\(.*test_")
    with pytest.raises(toolrt.ProjectError, match=anywhere) as told:
        await runtime.add(fn, name="it")

    assert told.value.report.count(f"error[{code}]") == 1
    assert hint in told.value.report
