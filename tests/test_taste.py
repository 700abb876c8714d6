"""The sizes, names and habits of the code, measured; nothing here has an allow-list for sizes."""

import ast
import re
import statistics
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "toolrt"
MODULES = sorted(PACKAGE.rglob("*.py"))

MEDIAN, P90, LONGEST, MODULE = 9, 28, 60, 350
BANNED_SUFFIXES = (
    "Manager", "Handler", "Helper", "Util", "Utils", "Processor", "Impl", "Data", "Info",
)  # fmt: skip

BROAD_EXCEPTS = {
    ("bindings/mcp/connection.py", "Connection._live"): "groups of whatever fails in the SDK",
    ("bindings/python_calls.py", "AtOnce.call"): "the call into user code",
    ("catalog/embeddings.py", "Embeddings.nearness"): "the call into user code",
    ("catalog/embeddings.py", "Embeddings._given"): "the call into user code",
    ("catalog/embeddings.py", "_vectors"): "what user code gave is read",
    ("catalog/plan_and_execute.py", "Analyst.analysed"): "the call into user code",
    ("pipeline/stages/attempt.py", "_Trying._direct.direct"): "the call into user code",
    ("bindings/python_calls.py", "Inline.call"): "the call into user code",
    ("bindings/python_calls.py", "Linked.prepared"): "the validators of user code",
    ("bindings/python_calls.py", "OnLoop.begin"): "the call into user code",
    ("bindings/python_calls.py", "_settled"): "the call into user code",
    ("bindings/python_errors.py", "_first_line"): "the `__str__` of user code",
    ("bindings/python_errors.py", "_is_whole"): "the properties of user code",
    ("bindings/python_hosts.py", "Work._moved"): "a step of user code",
    ("bindings/python_hosts.py", "_waited"): "what a step of user code is woken with",
    ("bindings/python_hooks.py", "_caught"): "the call into user code",
    ("bindings/python_owners.py", "_caught"): "the `setup` and `teardown` of user code",
    ("bindings/python_imports.py", "_module"): "the import of user code",
    ("bindings/python_imports.py", "looking_at"): "the attributes and signatures of user code",
    ("bindings/python_upkeep.py", "Upkeep._step"): "the `setup` and `teardown` of user code",
    ("bindings/python_worker.py", "_Serving._ran"): "the top of a worker process",
    ("bindings/threads.py", "Job.run"): "the top of a thread",
    ("core/context.py", "Context._tell"): "the listener of the host",
    ("core/logs.py", "message_of"): "the `__str__` of user code",
    ("expressions/conditions.py", "Condition._evaluate"): "the call of the CEL library",
    ("faces/cli/main.py", "ending"): "the last ring of the command line",
    ("faces/http/door.py", "Door.__call__"): "the last ring of a request",
    ("faces/mcp/protocol.py", "Protocol.answer"): "the last ring of a message",
    ("pipeline/gateway.py", "Gateway.call"): "the outer ring of every call",
    ("pipeline/gateway.py", "Gateway._run"): "the outer ring of approved and nested calls",
    ("pipeline/inner_calls.py", "InnerCalls.step"): "the outer ring of steps of plans",
    ("reloading/reloader.py", "Reloader._in_turn"): "the top of a reload",
    ("schemas/plain.py", "_of_subclass"): "the properties of user code",
    ("schemas/foreign.py", "_text"): "the `__str__` of user code",
    ("schemas/foreign.py", "looking"): "the annotations, metaclasses and hooks of user code",
    ("schemas/values.py", "to_plain"): "the serialisers of user code",
}
"""Where everything may be caught: (module, function) -> why. What passes it on does not count."""

SKIPPED_SUFFIXES = {".png", ".svg", ".ico"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def functions(path: Path) -> Iterator[Function]:
    return (node for node in ast.walk(tree(path)) if isinstance(node, Function))


def size(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_functions_are_short() -> None:
    sizes = sorted(size(function) for path in MODULES for function in functions(path))

    assert statistics.median(sizes) <= MEDIAN
    assert sizes[int(0.9 * len(sizes))] <= P90


def test_no_function_is_over_60_lines() -> None:
    long = [
        f"{name(path)}:{function.lineno} {function.name} has {size(function)} lines"
        for path in MODULES
        for function in functions(path)
        if size(function) > LONGEST
    ]

    assert long == []


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_module_is_short_and_says_what_it_is_for(path: Path) -> None:
    assert path.read_text(encoding="utf-8").count("\n") <= MODULE
    assert ast.get_docstring(tree(path))


def test_names_of_types_end_in_no_banned_suffix() -> None:
    banned = [
        f"{name(path)}: {named}"
        for path in MODULES
        for named in types(tree(path))
        if named.endswith(BANNED_SUFFIXES)
    ]

    assert banned == []


def types(module: ast.Module) -> Iterator[str]:
    """The classes of a module, and its aliases in camel case."""
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            named = node.targets[0].id
            if re.fullmatch(r"_?[A-Z][a-z]\w*", named):
                yield named


def test_broad_excepts_stand_only_where_they_are_listed() -> None:
    found = {(name(path), where) for path in MODULES for where in broad_excepts(tree(path))}

    assert found == set(BROAD_EXCEPTS)


def broad_excepts(node: ast.AST, inside: str = "") -> Iterator[str]:
    """The names of the functions below `node` that catch everything."""
    if isinstance(node, ast.ClassDef | Function):
        inside = f"{inside}.{node.name}" if inside else node.name
    if is_broad(node):
        yield inside
    for child in ast.iter_child_nodes(node):
        yield from broad_excepts(child, inside)


def is_broad(node: ast.AST) -> bool:
    if isinstance(node, ast.ExceptHandler):
        return not is_clean_up(node) and (node.type is None or names_everything(node.type))
    is_suppress = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress")
    return is_suppress and any(map(names_everything, node.args))


def is_clean_up(handler: ast.ExceptHandler) -> bool:
    """Whether what was caught goes on its way: the last statement is a bare `raise`."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def names_everything(node: ast.expr) -> bool:
    named = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(isinstance(n, ast.Name) and n.id in {"Exception", "BaseException"} for n in named)


@pytest.mark.parametrize(
    ("code", "where"),
    [
        ("def f():\n try: g()\n except Exception: pass", ["f"]),
        (
            "class A:\n def f(self):\n  try: g()\n  except (ValueError, BaseException): pass",
            ["A.f"],
        ),
        ("def f():\n try: g()\n except: pass", ["f"]),
        ("def f():\n with suppress(Exception): g()", ["f"]),
        ("def f():\n try: g()\n except ValueError: pass", []),
        ("def f():\n try: g()\n except BaseException:\n  h()\n  raise", []),
    ],
)
def test_a_broad_except_is_found(code: str, where: list[str]) -> None:
    assert list(broad_excepts(ast.parse(code))) == where


def files_of_the_project() -> list[Path]:
    """What is in the repository or about to be; without git, nothing can be said."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    paths = (ROOT / line for line in listed.stdout.splitlines())
    return [path for path in paths if path.is_file() and path.suffix not in SKIPPED_SUFFIXES]


def lines_that_match(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number} {line.strip()[:80]}"
        for path in files_of_the_project()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]


def unwritten(pattern: str) -> re.Pattern[str]:
    """A pattern whose words are cut by `~` here, so that this file does not match itself."""
    return re.compile(pattern.replace("~", ""))


def test_no_file_carries_a_path_of_one_machine() -> None:
    folders = unwritten(r"(?<![\w.])/(wo~rk|fa~rm|ro~ot|ho~me/\w+|Us~ers/\w+)/")

    assert lines_that_match(folders) == []


def test_no_file_names_the_host_of_a_registry() -> None:
    hosts = unwritten(r"py~pi\.org|python~hosted|npm~js\.(com|org)|deb~\.debian\.org")

    assert lines_that_match(hosts) == []


def test_no_comment_promises_work() -> None:
    promises = unwritten(r"#.*\b(TO~DO|FIX~ME|XX~X)\b")

    assert [line for line in lines_that_match(promises) if ".py:" in line] == []


def test_no_rule_is_switched_off_without_a_reason() -> None:
    bare = re.compile(
        r"#\s*(noqa(:\s*[A-Z]+\d+(,\s*[A-Z]+\d+)*)?|type:\s*ignore(\[[\w,-]+\])?)\s*$"
    )

    assert [line for line in lines_that_match(bare) if line.startswith("toolrt/")] == []


LEAST_PATIENCE_S = 4
CLOCK = re.compile(r"monotonic\(|perf_counter\(|loop\(\)\.time\(|\btime_s\b")


def hasty(code: str) -> list[str]:
    """Limits by the clock that a busy machine breaks; seconds of the processor are another thing."""
    return [
        text
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Compare)
        and isinstance(node.ops[-1], ast.Lt | ast.LtE)
        and isinstance(limit := node.comparators[-1], ast.Constant)
        and isinstance(limit.value, int | float)
        and limit.value < LEAST_PATIENCE_S
        and CLOCK.search(text := ast.unparse(node))
    ]


def test_no_test_takes_speed_by_the_clock() -> None:
    paths = sorted((ROOT / "tests").rglob("*.py"))
    assert {path.name: found for path in paths if (found := hasty(path.read_text()))} == {}


def test_a_hasty_limit_is_found() -> None:
    assert hasty("assert time.monotonic() - began < 0.5") == ["time.monotonic() - began < 0.5"]
    assert hasty("assert 0.1 < result.time_s <= 0.5") == ["0.1 < result.time_s <= 0.5"]
    assert hasty("assert time.process_time() - began < 0.5") == []
    assert hasty("assert time.monotonic() - began < AT_ONCE_S") == []
