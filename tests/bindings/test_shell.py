import pytest
from pydantic import ValidationError

from tests.children import Workbench
from toolrt.bindings.base import kind
from toolrt.core.errors import BindingError, RefusedError

pytestmark = pytest.mark.anyio

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
PATH = {"type": "string", "format": "path"}


@pytest.fixture
async def bench(tmp_path):
    bench = Workbench(tmp_path, {"TOKEN": "s3cret-value"})
    yield bench
    await bench.close()


@pytest.mark.parametrize("value", ["$(id)", "`id`", "; id", "a\nb", '" && id "', "*", "-rf", ""])
async def test_s1_values_reach_the_script_only_as_arguments_and_environment(bench, value):
    options = {"argv": ["{{ v }}"], "env": {"V": "{{ v }}"}}
    tool = bench.shell('printf "%s|%s" "$1" "$V"', options, v=TEXT)
    assert tool.faults == []
    assert await tool.value(v=value) == f"{value}|{value}"


async def test_arguments_follow_the_rules_of_commands(bench):
    options = {"argv": ["{{ names }}", {"-n": "{{ n }}", "--m=": "{{ m }}"}]}
    absent = {**NUMBER, "required": False}
    tool = bench.shell(
        'printf "<%s>" "$0" "$@"', options, names={"type": "array"}, n=NUMBER, m=absent
    )
    assert await tool.value(names=["a b", "c"], n=-5) == "<toolrt><a b><c><-n><-5>"


async def test_dollar_brace_in_a_script_is_the_shells_own(bench):
    tool = bench.shell('x=${1:-none}; echo "${x}"')
    assert tool.faults == []
    assert await tool.value() == "none\n"


async def test_script_stops_at_the_first_failure_also_inside_a_pipe(bench):
    with pytest.raises(BindingError, match="exited with 1"):
        await bench.shell("false | cat; echo on").call()
    with pytest.raises(BindingError, match="NOPE: unbound variable"):
        await bench.shell('echo "$NOPE"').call()


async def test_s1_template_in_a_script_is_a_fault_with_its_place_and_a_way_out(bench):
    tool = bench.shell("echo {{ v }}", v=TEXT)
    (fault,) = tool.context.faults
    assert (fault.code, fault.path, fault.offset) == ("template-in-script", ("script",), 5)
    assert '"$1"' in fault.hint


async def test_reference_in_a_script_is_a_warning(bench):
    tool = bench.shell("curl -H ${env:TOKEN}")
    (fault,) = tool.context.faults
    assert (fault.code, fault.severity, fault.offset) == ("reference-in-script", "warning", 8)


async def test_s5_reference_in_an_argument_is_a_fault_but_not_in_the_environment(bench):
    tool = bench.shell("true", {"argv": ["${env:TOKEN}"]})
    assert tool.faults == [("reference-in-argv", ("argv", 0), "error")]
    tool = bench.shell('echo "$T"', {"env": {"T": "${env:TOKEN}"}})
    assert await tool.value() == "s3cret-value\n"


@pytest.mark.parametrize("name", ["BASH_ENV", "ENV", "IFS", "SHELLOPTS", "PS4", "LD_PRELOAD"])
async def test_s5_callers_never_fill_variables_that_the_shell_runs(bench, name):
    tool = bench.shell("true", {"env": {name: "{{ v }}"}}, v=TEXT)
    assert tool.faults == [("caller-value-in-env", ("env", name), "error")]


async def test_s3_constant_script_is_no_interpreter_of_the_callers_text(bench):
    assert bench.shell('echo "$1"', {"argv": ["{{ v }}"]}, v=TEXT).faults == []


@pytest.mark.parametrize(
    ("value", "why"),
    [("a\0b", "NUL"), ("\ud800", "surrogate"), ("x" * 131_072, "too long")],
    ids=["nul", "surrogate", "128KiB"],
)
async def test_s4_what_no_argument_can_hold_is_refused(bench, value, why):
    tool = bench.shell("touch ran", {"argv": ["{{ v }}"]}, v=TEXT)
    with pytest.raises(RefusedError, match=why):
        await tool.call(v=value)
    assert list(bench.project.iterdir()) == []


async def test_another_interpreter_may_be_named(bench):
    tool = bench.shell('echo "$0 $1"', {"interpreter": ["sh", "-u"], "argv": ["x"]})
    assert await tool.value() == "toolrt x\n"
    assert tool.argv() == ["sh", "-u", "-c", 'echo "$0 $1"', "toolrt", "x"]


async def test_l2_missing_interpreter_makes_the_tool_unavailable(bench):
    tool = bench.shell("true", {"interpreter": ["no-such-shell"]})
    assert tool.faults == []
    assert "no-such-shell" in tool.context.unavailable


async def test_s2_interpreter_is_constant(bench):
    tool = bench.shell("true", {"interpreter": ["bash", "{{ v }}"]}, v=TEXT)
    assert tool.faults == [("program-not-constant", ("interpreter", 1), "error")]


async def test_script_that_no_argument_can_hold_is_a_fault(bench):
    assert bench.shell("#" * 131_072).faults == [("script-too-long", ("script",), "error")]


async def test_stdin_output_success_and_folder_work_as_for_commands(bench):
    (bench.project / "sub").mkdir()
    options = {"stdin": ["{{ v }}"], "output": "json", "success": [4], "cwd": "{{ dir }}"}
    tool = bench.shell("cat; pwd >&2; exit 4", options, v=NUMBER, dir=PATH)
    done = await tool.call(v=7, dir="sub")
    assert done.value == [7]
    assert done.stderr == f"{bench.project}/sub\n"


@pytest.mark.parametrize(
    "raw", [{}, {"script": ""}, {"script": "x", "interpreter": []}, {"script": ["a"]}], ids=str
)
async def test_wrong_options_are_refused(raw):
    with pytest.raises(ValidationError):
        kind("shell").spec.model_validate(raw)


MAYBE = {"type": "string", "required": False}


@pytest.mark.parametrize(
    ("first", "schema"),
    [
        ("{{ a }}", MAYBE),
        ("{{ a | upper }}", MAYBE),
        ("{{ a if a }}", MAYBE),
        ("{{ a if a == 'x' }}", TEXT),
        ("{{ a }}", {"type": ["string", "null"]}),
        ("{{ caller.tenant }}", TEXT),
        ("{{ caller.claims.team }}", TEXT),
    ],
)
async def test_what_may_be_absent_is_refused_before_another_argument(bench, first, schema):
    used = {"env": {"A": "{{ a | default('') }}"}}
    tool = bench.shell(
        'echo "a=$1 b=${2:-}"', {"argv": [first, "{{ b }}"], **used}, a=dict(schema), b=TEXT
    )
    (fault,) = tool.context.faults
    assert (fault.code, fault.path) == ("optional-in-argv", ("argv", 0))
    assert "`$2` would then be `$1`" in fault.message
    assert "give it a default, put it last, or pass it under `env`" in fault.hint


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["{{ b }}", "{{ a }}"], "<B>"),
        (['{{ a | default("") }}', "{{ b }}"], "<><B>"),
        (["{{ 'x' if a else 'y' }}", "{{ b }}"], "<y><B>"),
        (["{{ caller.principal }}", "{{ b }}"], "<-rf><B>"),
        ([{"-a": "{{ a }}"}, "{{ b }}"], "<B>"),
        (["{{ caller.tenant | default('none') }}", "{{ b }}"], "<none><B>"),
    ],
)
async def test_what_is_last_has_a_default_or_is_an_option_may_be_absent(bench, argv, expected):
    used = {"env": {"A": "{{ a | default('') }}"}}
    tool = bench.shell('printf "<%s>" "$@"', {"argv": argv, **used}, a=dict(MAYBE), b=TEXT)
    assert tool.faults == []
    assert await tool.value(b="B") == expected
