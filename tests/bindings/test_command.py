import asyncio
import json
import os
import subprocess
import sys
import time

import pytest
from pydantic import ValidationError

from tests.children import Workbench
from tests.limits import AT_ONCE_S
from toolrt.bindings.base import kind
from toolrt.core.errors import BindingError, CallError, RefusedError

pytestmark = pytest.mark.anyio

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
PATH = {"type": "string", "format": "path"}
CLOSED = [
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "NODE_OPTIONS",
    "BASH_ENV",
    "ENV",
    "IFS",
    "GIT_SSH_COMMAND",
    "PATH",
    "HOME",
    "PERL5OPT",
    "TAR_OPTIONS",
    "GREP_OPTIONS",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "MAVEN_OPTS",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "RSYNC_RSH",
    "MANPAGER",
    "CURL_HOME",
    "MAKEFLAGS",
    "https_proxy",
]
FROM_CALLER = [
    "{% for r in caller.roles %}{{ r }}{% endfor %}",
    "{% for r in [1] %}{{ caller.tenant }}{% endfor %}",
    "{% for caller in [] %}{% else %}{{ caller.tenant }}{% endfor %}",
    "{% if caller.tenant %}{{ caller.tenant }}{% endif %}",
    "{{ '}' ~ caller.tenant }}",
    "{{ caller['tenant'] }}",
    "x{{ vars.place if caller.tenant else vars.place }}",
    "{{ 'a' if v else 'b' }}",
    "${caller:token}",
]


@pytest.fixture
async def bench(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "note.txt").write_text("hello\n")
    bench = Workbench(tmp_path, {"TOKEN": "s3cret-value", "LD_LIBRARY_PATH": "/x", "TZ": "UTC"})
    yield bench
    await bench.close()


def option(**more):
    return {**TEXT, "required": False, **more}


async def test_s1_an_element_is_one_argument_whatever_it_holds(bench):
    tool = bench.command("printf", "--", "%s|", "{{ a }}", "x{{ b }}y", a=TEXT, b=TEXT)
    assert await tool.value(a="a b  *", b="$(id) 'q'") == "a b  *|x$(id) 'q'y|"


async def test_s1_an_array_is_one_argument_an_item_and_absent_vanishes(bench):
    tool = bench.command(
        "ls", "--", "{{ names }}", "end", names={"type": "array", "required": False}
    )
    assert tool.argv(names=["a b", "-c", 5, True]) == ["ls", "--", "a b", "-c", "5", "true", "end"]
    assert tool.argv(names=[]) == tool.argv() == ["ls", "--", "end"]


async def test_null_counts_as_not_given(bench):
    tool = bench.command("ls", "{{ a }}", {"-o": "{{ a }}"}, a=option())
    assert tool.argv(a=None) == ["ls"]


async def test_values_are_written_as_people_write_them(bench):
    tool = bench.command("ls", "{{ a }}", a={})
    assert tool.argv(a=True) == ["ls", "true"]
    assert tool.argv(a=False) == ["ls", "false"]
    assert tool.argv(a=1.5) == ["ls", "1.5"]
    assert tool.argv(a={"k": "é"}) == ["ls", '{"k":"é"}']
    assert tool.argv(a="") == ["ls", ""]


@pytest.mark.parametrize(
    ("value", "plain", "joined"),
    [
        (None, [], []),
        (False, [], []),
        (True, ["-k"], ["--k=true"]),
        ("v", ["-k", "v"], ["--k=v"]),
        ("", ["-k", ""], ["--k="]),
        (0, ["-k", "0"], ["--k=0"]),
        (["a", "b"], ["-k", "a", "-k", "b"], ["--k=a", "--k=b"]),
        ([], [], []),
    ],
)
async def test_options_follow_their_values(bench, value, plain, joined):
    tool = bench.command("ls", {"-k": "{{ v }}"}, v={"required": False})
    assert tool.argv(v=value) == ["ls", *plain]
    tool = bench.command("ls", {"--k=": "{{ v }}"}, v={"required": False})
    assert tool.argv(v=value) == ["ls", *joined]


async def test_constant_options_are_written_as_they_are(bench):
    options = {"-a": True, "-b": False, "-c": None, "-d": "x", "-e": ["1", "2{{ n }}"], "--f=": "g"}
    tool = bench.command("ls", options, n=NUMBER)
    assert tool.argv(n=3) == ["ls", "-a", "-d", "x", "-e", "1", "-e", "23", "--f=g"]


async def test_absent_option_vanishes_with_its_key(bench):
    tool = bench.command("ls", {"-n": "{{ n }}", "--m=": "{{ m }}"}, n=option(), m=option())
    assert tool.argv() == ["ls"]


@pytest.mark.parametrize(
    "element",
    ["{{ v }}", {"-o": "{{ v }}"}, "{{ v }}/x", "{{ v | lower }}", {"-o": ["a", "{{ v }}"]}],
    ids=str,
)
async def test_s4_text_that_begins_with_a_dash_is_refused(bench, element):
    tool = bench.command("ls", element, v=TEXT)
    with pytest.raises(RefusedError, match="`v` must not start with `-`") as caught:
        tool.argv(v="-rf")
    assert caught.value.code == "invalid-arguments"
    with pytest.raises(RefusedError):
        await tool.call(v="-rf")
    assert tool.argv(v="‐rf")[-1].startswith("‐rf")


async def test_s4_any_item_of_an_array_that_begins_with_a_dash_is_refused(bench):
    tool = bench.command("ls", "{{ v }}", v={"type": "array", "items": TEXT})
    with pytest.raises(RefusedError, match="must not start with `-`"):
        tool.argv(v=["a", "--b"])


async def test_s4_what_the_caller_is_called_is_text_of_the_caller(bench):
    tool = bench.command("ls", "{{ caller.principal }}")
    with pytest.raises(RefusedError, match="must not start with `-`"):
        tool.argv()


@pytest.mark.parametrize(
    "element",
    [
        "{% for p in [caller.principal] %}{{ p }}{% endfor %}",
        "{% if caller.principal %}{{ caller.principal }}{% endif %}",
        "{{ '' ~ caller.principal }}",
        "{{ [caller.principal] }}",
        "{{ caller['principal'] }}",
        " {{- caller.principal }}",
        "\n  {%- if true %}{{ caller.principal }}{% endif %}",
        "{{ vars.nothing }}{{ caller.principal }}",
    ],
)
async def test_s4_a_dash_of_the_caller_is_refused_however_it_comes_in(bench, element):
    tool = bench.command("ls", element)
    assert tool.faults == []
    with pytest.raises(RefusedError, match="`caller` must not start with `-`"):
        tool.argv()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": NUMBER, "prefixItems": [TEXT]},
        {"type": "array", "items": False, "prefixItems": [TEXT]},
        {"type": "array", "items": [TEXT], "additionalItems": NUMBER},
        {"$ref": "#/$defs/x", "enum": ["a"]},
    ],
)
async def test_s4_text_in_any_place_of_an_array_counts_as_text(bench, schema):
    tool = bench.command("ls", "{{ v }}", v=schema)
    with pytest.raises(RefusedError, match="must not start with `-`"):
        tool.argv(v=["-rf"])


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ({"argv": ["ls", "a\0b"]}, ("argv", 1)),
        ({"argv": ["ls", {"-a\0": True}]}, ("argv", 1, "-a\0")),
        ({"argv": ["ls", {"-a": "x\0"}]}, ("argv", 1, "-a")),
        ({"argv": ["ls"], "env": {"A": "a\0b"}}, ("env", "A")),
        ({"argv": ["ls"], "cwd": "a\0b"}, ("cwd",)),
        ({"argv": ["l\0s"]}, ("argv", 0)),
    ],
)
async def test_s4_a_constant_that_no_process_can_be_given_is_found_at_load(bench, keys, path):
    (fault,) = bench.bind("command", keys).context.faults
    assert (fault.path, fault.severity) == (path, "error")


async def test_s4_a_dash_is_fine_after_double_dash_joined_or_allowed(bench):
    assert bench.command("ls", "--", "{{ v }}", v=TEXT).argv(v="-rf") == ["ls", "--", "-rf"]
    assert bench.command("ls", {"--o=": "{{ v }}"}, v=TEXT).argv(v="-rf") == ["ls", "--o=-rf"]
    assert bench.command("ls", "--o={{ v }}", v=TEXT).argv(v="-rf") == ["ls", "--o=-rf"]
    allowed = {**TEXT, "allow_dash": True}
    assert bench.command("ls", "{{ v }}", v=allowed).argv(v="-rf") == ["ls", "-rf"]


async def test_s4_numbers_and_constants_of_the_manifest_may_begin_with_a_dash(bench):
    assert bench.command("ls", "{{ v }}", v=NUMBER).argv(v=-5) == ["ls", "-5"]
    assert bench.command("ls", "{{ v }}", v={}).argv(v=-5) == ["ls", "-5"]
    assert bench.command("ls", "{{ v }}", v={"enum": ["-a"]}).argv(v="-a") == ["ls", "-a"]
    assert bench.command("ls", "{{ vars.flags }}").argv() == ["ls", "-a", "-b"]


@pytest.mark.parametrize(
    ("value", "why"),
    [("a\0b", "NUL"), ("\ud800", "surrogate"), ("x" * 131_072, "too long for an argument")],
    ids=["nul", "surrogate", "128KiB"],
)
async def test_s4_what_no_argument_can_hold_is_refused_before_anything_runs(bench, value, why):
    for element in ("{{ v }}", {"--o=": "{{ v }}"}, "x{{ v }}"):
        tool = bench.command("touch", "ran", element, v=TEXT)
        with pytest.raises(RefusedError, match=f"`v` .*{why}") as caught:
            await tool.call(v=value)
        assert caught.value.code == "invalid-arguments"
    assert not has(bench, "ran")


async def test_s4_more_than_a_mebibyte_in_all_is_refused(bench):
    tool = bench.command("touch", "ran", "{{ v }}", v={"type": "array", "items": TEXT})
    with pytest.raises(RefusedError, match="at most 1 MiB"):
        await tool.call(v=["x" * 100_000] * 21)
    assert not has(bench, "ran")


async def test_the_longest_argument_that_is_taken_reaches_the_program(bench):
    tool = bench.command("expr", "length", "{{ v }}", v=TEXT)
    assert await tool.value(v="x" * 131_071) == "131071\n"


def has(bench, name):
    return (bench.project / name).exists()


@pytest.mark.parametrize("program", ["{{ v }}", "x{{ v }}", "${env:TOKEN}", {"ls": True}])
async def test_s2_program_is_a_constant(bench, program):
    tool = bench.command(program, v=TEXT)
    assert tool.faults == [("program-not-constant", ("argv", 0), "error")]


async def test_s2_program_of_a_wrong_form_is_a_fault(bench):
    assert bench.command("../x").faults == [("invalid-program", ("argv", 0), "error")]


async def test_l2_missing_program_makes_the_tool_unavailable_not_faulty(bench):
    tool = bench.command("no-such-program")
    assert tool.faults == []
    assert "program `no-such-program` was not found in /usr/local/sbin:" in tool.context.unavailable


async def test_program_of_the_project_runs_by_its_own_name(bench):
    script = bench.project / "sub" / "tool"
    script.write_text('#!/bin/sh\necho "$0 $1"\n')
    script.chmod(0o755)
    tool = bench.command("./sub/tool", "{{ v }}", v=TEXT)
    assert await tool.value(v="x") == f"{script} x\n"


async def test_s3_free_text_for_an_interpreter_is_a_warning(bench):
    tool = bench.command("git", "log", {"-n": "{{ n }}"}, "{{ rev }}", n=NUMBER, rev=TEXT)
    assert tool.faults == [("caller-text-to-interpreter", ("argv", 3), "warning")]
    assert "this tool asks a person" in tool.context.faults[0].message


async def test_s3_numbers_enums_and_what_follows_double_dash_are_no_warning(bench):
    argv = ("git", "log", {"-n": "{{ n }}", "--format=": "{{ f }}"}, "--", "{{ path }}")
    properties = {"n": NUMBER, "f": {"enum": ["short"]}, "path": PATH}
    assert bench.command(*argv, **properties).faults == []
    assert bench.command("ls", "{{ v }}", v=TEXT).faults == []


async def test_s3_double_dash_after_an_option_for_code_keeps_the_warning(bench):
    tool = bench.command("bash", "-c", "--", "{{ q }}", q=TEXT)
    (fault,) = tool.context.faults
    assert (fault.code, fault.path) == ("caller-text-to-interpreter", ("argv", 3))
    assert "write a constant script under `shell:`" in fault.hint
    assert bench.command("bash", "-c", 'echo "$1"', "--", "{{ q }}", q=TEXT).faults == []


@pytest.mark.parametrize("element", ["${env:TOKEN}", "--t=${env:TOKEN}", {"-t": "${env:TOKEN}"}])
async def test_s5_reference_in_an_argument_is_a_fault(bench, element):
    tool = bench.command("ls", element)
    assert [fault[0] for fault in tool.faults] == ["reference-in-argv"]
    assert tool.faults[0][1][:2] == ("argv", 1)
    assert "`env:`" in tool.context.faults[0].hint


async def test_option_name_with_a_template_is_a_fault(bench):
    tool = bench.command("ls", {"--{{ v }}": "x"}, v=TEXT)
    assert tool.faults == [("option-not-constant", ("argv", 1, "--{{ v }}"), "error")]


async def test_unknown_name_is_a_fault_at_its_element(bench):
    tool = bench.command("ls", {"-o": ["a", "{{ nope }}"]})
    assert tool.faults == [("unknown-name", ("argv", 1, "-o", 1), "error")]


async def test_s5_environment_is_the_allow_list_and_what_is_declared(bench):
    options = {"env": {"CITY": "{{ c }}", "KEY": "${env:TOKEN}", "N": "{{ n }}", "LANG": None}}
    tool = bench.command("env", options=options, c=TEXT, n=option())
    lines = dict(line.split("=", 1) for line in (await tool.value(c="Köln")).splitlines())
    home = lines.pop("HOME")
    assert home.startswith("/tmp") or "toolrt-home-" in home
    assert lines == {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "TZ": "UTC",
        "CITY": "Köln",
        "KEY": "s3cret-value",
        "TOOLRT_INSIDE_CALL": "1",
    }


@pytest.mark.parametrize(
    "name",
    CLOSED,
)
async def test_s5_callers_never_fill_variables_that_run_code(bench, name):
    tool = bench.command("ls", options={"env": {name: "x{{ v }}"}}, v=TEXT)
    assert tool.faults == [("caller-value-in-env", ("env", name), "error")]
    tool = bench.command("ls", options={"env": {name: "{{ caller.tenant }}"}})
    assert tool.faults == [("caller-value-in-env", ("env", name), "error")]
    assert bench.command("ls", options={"env": {name: "constant"}}).faults == []
    assert bench.command("ls", options={"env": {name: "${env:TOKEN}"}}).faults == []


@pytest.mark.parametrize("text", FROM_CALLER)
async def test_s5_a_template_is_of_a_caller_wherever_it_names_one(bench, text):
    tool = bench.command("ls", options={"env": {"LD_PRELOAD": text}}, v=TEXT)
    assert tool.faults == [("caller-value-in-env", ("env", "LD_PRELOAD"), "error")]


async def test_s5_what_is_ours_may_go_into_any_variable(bench):
    options = {"env": {"GIT_TRACE": "{% if true %}{{ call.id }}{{ vars.place }}{% endif %}"}}
    assert bench.command("ls", options=options).faults == []


LOCALES = r"""
import asyncio, json, os, sys
from pathlib import Path
from tests.children import Workbench

async def main():
    bench = Workbench(Path(sys.argv[1]))
    text = {"type": "string"}
    path = {"type": "string", "format": "path"}
    said = [
        await bench.command("printf", "%s", "{{ v }}", v=text).value(v="\xe9"),
        await bench.shell('printf %s "$V"', {"env": {"V": "\xe9{{ v }}"}}, v=text).value(v="\xdf"),
        await bench.command("cat", "{{ p }}", p=path).value(p="\xe9/n\xf6te"),
        await bench.command("ls", options={"cwd": "{{ p }}"}, p=path).value(p="\xe9"),
        await bench.command("ls", options={"cwd": "\xe9"}).value(),
        await bench.command("./\xe9/r\xfcn").value(),
    ]
    await bench.close()
    print(json.dumps(said))

asyncio.run(main())
"""


@pytest.mark.parametrize("locale", [{}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}], ids=["ours", "C"])
def test_texts_reach_a_program_as_utf8_in_any_locale(tmp_path, locale):
    folder = tmp_path / "pröject" / "é"
    folder.mkdir(parents=True)
    (folder / "nöte").write_text("hello")
    program = folder / "rün"
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o755)
    command = [sys.executable, "-c", LOCALES, str(folder.parent)]
    env = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"], **locale}
    ended = subprocess.run(command, env=env, capture_output=True, check=False, text=True)
    assert ended.returncode == 0, ended.stderr
    listed = "nöte\nrün\n"
    assert json.loads(ended.stdout) == ["é", "éß", "hello", listed, listed, "ran\n"], ended.stderr


async def test_bad_name_of_a_variable_is_a_fault(bench):
    tool = bench.command("ls", options={"env": {"A-B": "x"}})
    assert tool.faults == [("bad-name", ("env", "A-B"), "error")]


async def test_missing_reference_makes_the_tool_unavailable(bench):
    tool = bench.command("ls", options={"env": {"KEY": "${env:NOPE}"}})
    assert tool.faults == []
    assert "NOPE" in tool.context.unavailable


async def test_stdin_is_dev_null_unless_declared(bench):
    assert await bench.command("cat").value() == ""


@pytest.mark.parametrize(
    ("stdin", "given"),
    [
        ("{{ v }}", 'te"xt'),
        ("<{{ v }}>", '<te"xt>'),
        ({"k": "{{ v }}", "n": [1, "{{ absent }}"]}, '{"k":"te\\"xt","n":[1]}'),
        ("{{ o }}", '{"a":[1,null]}'),
        ("{{ absent }}", ""),
        ("key ${env:TOKEN}", "key s3cret-value"),
    ],
    ids=str,
)
async def test_stdin_is_text_or_json(bench, stdin, given):
    properties = {"v": TEXT, "o": {"type": "object"}, "absent": option()}
    tool = bench.command("cat", options={"stdin": stdin}, **properties)
    assert await tool.value(v='te"xt', o={"a": [1, None]}) == given


async def test_stdin_with_half_a_surrogate_pair_is_refused(bench):
    tool = bench.command("cat", options={"stdin": "{{ v }}"}, v=TEXT)
    with pytest.raises(RefusedError, match="surrogate"):
        await tool.call(v="\ud800")


async def test_s6_working_folder_is_the_project(bench):
    assert await bench.command("pwd").value() == f"{bench.project}\n"


async def test_s6_working_folder_may_be_a_path_parameter(bench):
    tool = bench.command(
        "ls", "{{ file }}", options={"cwd": "{{ dir }}"}, dir={**PATH, "required": False}, file=PATH
    )
    assert tool.faults == []
    assert await tool.value(dir="sub", file="sub/note.txt") == f"{bench.project}/sub/note.txt\n"
    assert await tool.value(file="sub/note.txt") == f"{bench.project}/sub/note.txt\n"
    with pytest.raises(BindingError, match="working folder cannot be entered") as caught:
        await tool.call(dir="nope", file="x")
    assert caught.value.sent == "never"


async def test_s6_working_folder_may_be_a_folder_of_the_project(bench):
    assert await bench.command("ls", options={"cwd": "./sub"}).value() == "note.txt\n"


@pytest.mark.parametrize("cwd", ["/", "..", "a/../..", "{{ v }}", "{{ v }}/x", "{{ p }}/x", "~"])
async def test_s6_any_other_working_folder_is_a_fault(bench, cwd):
    tool = bench.command("ls", options={"cwd": cwd}, v=TEXT, p=PATH)
    assert tool.faults == [("invalid-folder", ("cwd",), "error")]


async def test_f2_path_argument_cannot_look_like_an_option(bench):
    tool = bench.command("ls", "{{ p }}", p=PATH)
    assert tool.argv(p="-rf") == ["ls", "./-rf"]
    assert await tool.value(p="sub") == "note.txt\n"
    with pytest.raises(RefusedError):
        await tool.call(p="../x")


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ("text", '{"a": 1}\n{"a": 2}\n'),
        ("lines", ['{"a": 1}', '{"a": 2}']),
        ("jsonl", [{"a": 1}, {"a": 2}]),
    ],
)
async def test_output_is_read_as_declared(bench, output, value):
    tool = bench.command("printf", '{"a": 1}\\n{"a": 2}\\n', options={"output": output})
    assert await tool.value() == value


async def test_output_that_is_not_what_was_declared_is_a_bad_response(bench):
    tool = bench.command("echo", "hi", options={"output": "json"})
    with pytest.raises(BindingError, match="not JSON") as caught:
        await tool.call()
    assert caught.value.code == "bad-response"


async def test_s9_long_output_keeps_head_and_tail_and_counts_the_rest(bench):
    options = {"limits": {"output": "1KB"}}
    done = await bench.command("seq", "10000", options=options).call()
    assert done.truncated_bytes == 48894 - 1000
    assert done.value.startswith("1\n2\n")
    assert done.value.endswith("9999\n10000\n")
    assert "[... 47894 bytes left out ...]" in done.value


async def test_s9_long_output_is_no_json(bench):
    options = {"limits": {"output": "1KB"}, "output": "jsonl"}
    with pytest.raises(BindingError, match="48894 bytes is longer than what is kept") as caught:
        await bench.command("seq", "10000", options=options).call()
    assert caught.value.code == "bad-response"


async def test_an_answer_carries_exit_code_and_stderr(bench):
    tool = bench.command("ls", "nope", options={"success": [0, 2]})
    done = await tool.call()
    assert done.exit_code == 2
    assert "nope" in done.stderr


async def test_s12_failing_exit_says_the_last_line_of_stderr(bench):
    script = 'echo first >&2; printf "la\\033[2Jst\\n\\n" >&2; echo \'{"error": "why"}\'; exit 3'
    tool = bench.command("sh", "-c", script)
    with pytest.raises(BindingError) as caught:
        await tool.call()
    error = caught.value
    assert error.message == "exited with 3: la\\x1b[2Jst"
    assert (error.code, error.retryable, error.sent) == ("execution-failed", False, "answered")
    assert error.details["exit_code"] == 3
    assert error.details["stderr"].startswith("first\n")
    assert error.body == {"error": "why"}


async def test_s12_what_a_failing_program_printed_is_kept_too(bench):
    script = "seq 9999; echo 'Error: no such city'; exit 3"
    with pytest.raises(BindingError) as caught:
        await bench.command("sh", "-c", script).call()
    printed = caught.value.details["stdout"]
    assert printed.endswith("9999\nError: no such city\n")
    assert len(printed) == 2000
    with pytest.raises(BindingError) as caught:
        await bench.command("sh", "-c", "kill -9 $$").call()
    assert "stdout" not in caught.value.details


async def test_s12_long_last_line_is_cut_in_the_middle_to_200_characters(bench):
    with pytest.raises(BindingError) as caught:
        await bench.command("ls", "x" * 999).call()
    assert len(caught.value.message) == len("exited with 2: ") + 200
    assert caught.value.message.endswith("ame too long")


@pytest.mark.parametrize(("code", "why"), [(126, "found but not executable"), (127, "not found")])
async def test_s12_exits_126_and_127_say_which_and_are_not_retried(bench, code, why):
    with pytest.raises(BindingError, match=why) as caught:
        await bench.command("sh", "-c", f"exit {code}").call()
    assert (caught.value.code, caught.value.retryable) == ("execution-failed", False)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("kill -KILL $$", r"signal 9 \(SIGKILL\)"),
        ("kill -40 $$", r"signal 40 \("),
        ("while :; do :; done", r"signal 24 \(SIGXCPU\): it used more processor time"),
        (
            "sleep 0.1; exec head -c 5000000 /dev/zero > big",
            r"signal 25 \(SIGXFSZ\): it wrote a file larger",
        ),
    ],
    ids=["kill", "real time", "cpu", "file size"],
)
async def test_s12_death_by_signal_is_its_own_code(bench, script, message):
    options = {"limits": {"file_size": "1MiB", "cpu": "1s"}}
    with pytest.raises(BindingError, match=message) as caught:
        await bench.command("sh", "-c", script, options=options).call()
    assert caught.value.code == "signaled"
    assert not caught.value.retryable


async def test_e5_nothing_is_sent_until_the_child_runs(bench):
    tool = bench.command("true")
    invocation = tool.invocation({})
    await tool.binding.call(invocation)
    assert invocation.sent == "answered"
    refused = bench.command("ls", "{{ v }}", v=TEXT)
    invocation = refused.invocation({"v": "-x"})
    with pytest.raises(CallError):
        await refused.binding.call(invocation)
    assert invocation.sent == "never"


@pytest.mark.realtime
async def test_e13_cancelled_call_may_have_been_sent_and_is_let_go_at_once(bench):
    tool = bench.command("sleep", "30")
    invocation = tool.invocation({})
    task = asyncio.ensure_future(tool.binding.call(invocation))
    await asyncio.sleep(0.05)
    started = time.monotonic()
    task.cancel()
    await asyncio.wait([task])
    assert time.monotonic() - started < AT_ONCE_S
    assert task.cancelled()
    assert invocation.sent == "maybe"


async def test_csv_is_read_by_its_header(bench):
    tool = bench.command("printf", 'a,b\r\n1,"x,y"\r\n', options={"output": "csv"})
    assert (await tool.call()).value == [{"a": "1", "b": "x,y"}]


async def test_csv_that_was_cut_is_no_table(bench):
    options = {"output": "csv", "limits": {"output": "5B"}}
    tool = bench.command("printf", "a,b\n1,2\n3,4\n", options=options)
    with pytest.raises(BindingError, match="no whole CSV") as failed:
        await tool.call()
    assert failed.value.code == "bad-response"


async def test_preview_shows_everything_but_secrets_and_runs_nothing(bench):
    options = {"env": {"K": "a${env:TOKEN}b", "V": "{{ v }}"}, "stdin": {"t": "x${env:TOKEN}"}}
    tool = bench.command("touch", "{{ v }}", options=options, v=TEXT)
    shown = tool.binding.preview(tool.invocation({"v": "ran"}))
    assert shown == {
        "argv": ["touch", "ran"],
        "cwd": str(bench.project),
        "env": {"K": "a${env:TOKEN}b", "V": "ran"},
        "stdin": {"t": "x${env:TOKEN}"},
    }
    assert "s3cret" not in json.dumps(shown)
    assert not has(bench, "ran")


async def test_every_parameter_that_is_used_is_reported(bench):
    options = {"env": {"A": "{{ a }}"}, "stdin": ["{{ b }}"], "cwd": "{{ c }}"}
    argv = ("ls", {"-d": "{{ d }}"}, "{{ e }}")
    tool = bench.command(*argv, options=options, a=TEXT, b=TEXT, c=PATH, d=NUMBER, e=NUMBER)
    assert tool.context.used == set("abcde")


@pytest.mark.parametrize(
    "raw",
    [
        {"argv": "du -s"},
        {"argv": []},
        {"argv": ["ls"], "success": []},
        {"argv": ["ls"], "success": [256]},
        {"argv": ["ls"], "limits": {"cpu": 5}},
        {"argv": ["ls"], "limits": {"cups": "5s"}},
        {"argv": ["ls"], "output": "xml"},
        {"argv": ["ls", ["a"]]},
        {"argv": ["ls", {"-a": {"b": "c"}}]},
        {"argv": ["ls"], "shell": True},
    ],
    ids=str,
)
async def test_wrong_options_are_refused(raw):
    with pytest.raises(ValidationError):
        kind("command").spec.model_validate(raw)
