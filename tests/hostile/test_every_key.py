"""Every key of the manifest language, with values that nobody would write on purpose.

The keys are read off the models, so a new one is tried by itself. Whatever stands there, `check`
says what is wrong with it, or takes it: it never raises.
"""

import json
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from toolrt import runtime
from toolrt.bindings.base import KINDS, kind
from toolrt.loading.reader import read
from toolrt.loading.snippet import render
from toolrt.manifest.policy import PoliciesFile
from toolrt.manifest.project import ProjectFile
from toolrt.manifest.tool import ToolManifest, ToolsFile
from toolrt.schemas.keywords import OWN_WORDS, ROLES

Steps = tuple[str | int, ...]

DEEPEST = 3
LONG = "x" * 5_000
DIGITS = "1" * 4_400
TEXTS = (
    "", "x", "a 1", "1", "{{ a }}", "{{ a.b[0] }}", "{{", "${env:A}", "${file:a\0b}",
    f"${{file:{LONG}}}", "${secret:x}", "a\0b", "a\n\x1b[0m", "(?=a)b", "[", "../..",
    "/proc/self/mem", "./folder", "./loop/x", f"./{LONG}", "args.a == 1", f"a[{DIGITS}]", "`{`",
    "http://[", "http://x:99999/", "m:fn", "pkg..x:fn", "9" * 400 + "s", "9" * 400 + "KB", "0/0s",
    "١s", "é" * 300, "-", "#/x", "./a\0b.json", "postgresql://[",
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    None, True, 0, -1, 10**30, 0.5, [], {}, [[]], [None], ["a\0b"], [1, True], {"a": None},
    {"a": {}}, {"a": "b"}, {"a\0b": 1}, {"": 1}, {LONG: 1}, {"type": True}, {"type": {}},
    {"$ref": "./a\0b.json"}, {"$ref": f"./{LONG}.json"}, {"$ref": "#"}, {"$ref": "./folder"},
    {"$ref": "./loop.json"}, {"$ref": "./mem.json"}, {"$ref": 5}, {"properties": {"a": 5}},
    {"properties": []}, {"required": {"a": 1}}, {"files": "a\0b"}, [{"files": f"./{LONG}"}],
)  # fmt: skip
RAW = (".nan", "-.inf", DIGITS, "1e999", '"\\ud800"', "!!binary aGk=", "2020-01-01", "*gone")


def readable(texts: Iterable[str]) -> list[str]:
    """Those that leave the file around them readable."""
    return [text for text in texts if read(f"a: {text}".encode(), "a").data is not None]


OTHER_VALUES = readable([*map(json.dumps, OTHERS), *RAW, '""', '"x"'])
VALUES = [*OTHER_VALUES, *readable(map(json.dumps, TEXTS[2:]))]

KIND_OPTIONS: dict[str, dict[str, Any]] = {
    "agent": {"python": "m:Agent", "input": {"request": "{{ a }}"}},
    "command": {"argv": ["true", "{{ a }}"]},
    "http": {"url": "http://127.0.0.1:9/{{ a }}", "method": "POST", "query": {"q": "{{ a }}"}},
    "mcp": {"server": "s", "tool": "t"},
    "provider": {"vendor": "google", "type": "google_search"},
    "python": {"call": "m:fn"},
    "shell": {"script": "true", "argv": ["{{ a }}"]},
    "steps": {"steps": [{"id": "one", "tool": "t", "args": {"a": "{{ a }}"}}]},
}
AGENT = "class Agent:\n    def do(self, request: str) -> str:\n        return request\n"
PATH = {"type": "string", "format": "path", "root": "folder"}
PARAMETERS = ({"type": "string"}, PATH, {"type": "array", "items": PATH})


def choices(annotation: Any) -> Iterator[Any]:
    """The alternatives of an annotation, unions and Annotated opened."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from choices(get_args(annotation)[0])
    elif origin in {typing.Union, types.UnionType}:
        for each in get_args(annotation):
            yield from choices(each)
    else:
        yield annotation


def takes_text(annotation: Any) -> bool:
    return not {str, Any}.isdisjoint(choices(annotation))


def places(annotation: Any) -> Iterator[tuple[Steps, list[str]]]:
    """Each place in values of a type, and what to try there: texts only where one may stand."""
    found: dict[Steps, bool] = {}
    for path, is_text in paths(annotation):
        found[path] = found.get(path, False) or is_text
    yield from ((path, VALUES if is_text else OTHER_VALUES) for path, is_text in found.items())


def paths(annotation: Any, depth: int = DEEPEST) -> Iterator[tuple[Steps, bool]]:
    """The places of the values below one of a type, its own included, and whether it is a text."""
    yield (), takes_text(annotation)
    for each in choices(annotation) if depth else ():
        origin = get_origin(each)
        if origin is dict:
            yield from below("x", get_args(each)[1], depth)
        elif origin is list:
            yield from below(0, get_args(each)[0], depth)
        elif isinstance(each, type) and issubclass(each, BaseModel):
            for name, field in each.model_fields.items():
                yield from below(field.alias or name, field.annotation, depth)


def below(step: str | int, annotation: Any, depth: int) -> Iterator[tuple[Steps, bool]]:
    return (((step, *path), is_text) for path, is_text in paths(annotation, depth - 1))


def laid(around: Any, path: Steps, value: str) -> str:
    """`around` with `value` at `path`, as flow YAML."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        below = around[0] if isinstance(around, list) and around else None
        return f"[{laid(below, rest, value)}]"
    kept = around if isinstance(around, dict) else {}
    made = {key: json.dumps(each) for key, each in kept.items() if key != step}
    made[step] = laid(kept.get(step), rest, value)
    return "{" + ", ".join(f"{json.dumps(key)}: {each}" for key, each in made.items()) + "}"


def tool(parameter: dict[str, Any], options: str = "command") -> dict[str, Any]:
    """A tool whose parameter `a` is used in each of the languages."""
    return {
        "description": "D.",
        "parameters": {"a": parameter},
        "reject": [{"when": "args.a == 'x'", "reason": "No."}],
        "result": {"text": "{{ a }}"},
        options: KIND_OPTIONS[options],
    }


Place = tuple[Steps, list[str], dict[str, Any]]
"""Where to put each of some values, and what is well around it."""


def of_tools() -> Iterator[Place]:
    for path, values in places(ToolManifest):
        around = tool(PARAMETERS[0])
        if path == ("input_schema",):
            del around["parameters"]
        if path:
            yield path, values, around


def of_kinds() -> Iterator[Place]:
    for name in KINDS:
        for path, values in places(kind(name).spec):
            yield (name, *path), values, tool(PARAMETERS[0], name)


def of_parameters() -> Iterator[Place]:
    """Each word of a parameter; those that paths have to do with, on a path and on a list too."""
    for word in sorted({*ROLES, *OWN_WORDS}):
        yield ("parameters", "a", word), OTHER_VALUES, tool(PARAMETERS[0])
    for word in sorted({*OWN_WORDS, "$ref", "format", "items", "pattern", "type"}):
        yield ("parameters", "a", word), VALUES, tool(PATH)
        yield ("parameters", "a", "items", word), VALUES, tool(PARAMETERS[2])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose files are not what their names promise."""
    for folder in ("tools.d", "policies.d", "folder"):
        (tmp_path / folder).mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "tools.d" / "loop.json").symlink_to("loop.json")
    (tmp_path / "tools.d" / "mem.json").symlink_to("/proc/self/mem")
    (tmp_path / "tools.d" / "folder").mkdir()
    (tmp_path / "m.py").write_text("def fn(a: int = 1) -> int:\n    return a\n\n\n" + AGENT)
    return tmp_path


def look(root: Path) -> None:
    """Everything that `check` does with a project."""
    loaded = runtime.load(root, environ={})
    for each in loaded.snapshot.tools.values() if loaded.snapshot else ():
        assert each.unavailable is None or each.unavailable
    assert isinstance(render(loaded.diagnostics, loaded.sources), str)


Write = Callable[[list[str]], None]


def culprits(root: Path, texts: list[str], write: Write) -> list[str]:
    """Which of the texts make looking raise; they are parted only if all together do."""
    try:
        write(texts)
        look(root)
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not be raised
        if len(texts) == 1:
            return [f"{error!r:.200} from {texts[0]:.2000}"]
        half = len(texts) // 2
        parts = (texts[:half], texts[half:])
        return [one for part in parts for one in culprits(root, part, write)]
    return []


@pytest.mark.parametrize("listed", [of_tools, of_kinds, of_parameters])
def test_no_value_of_a_key_of_a_tool_raises(project, listed):
    def write(texts: list[str]) -> None:
        tools = (f"  t{number}: {text}\n" for number, text in enumerate(texts))
        (project / "tools.d" / "t.yaml").write_text("tools:\n" + "".join(tools))

    found = []
    for path, values, around in listed():
        found += culprits(project, [laid(around, path, value) for value in values], write)

    assert found == []


@pytest.mark.parametrize(
    ("folder", "model", "around"),
    [
        ("policies.d", PoliciesFile, {}),
        ("tools.d", ToolsFile, {"targets": {"x": {"url": "http://127.0.0.1:9/"}}}),
    ],
)
def test_no_value_of_a_key_of_a_file_raises(project, folder, model, around):
    def write(texts: list[str]) -> None:
        for number in range(len(VALUES)):
            text = texts[number] if number < len(texts) else ""
            (project / folder / f"{number}.yaml").write_text(text)

    found = []
    for path, values in places(model):
        found += culprits(project, [laid(around, path, value) for value in values], write)

    assert found == []


def test_no_value_of_a_key_of_the_project_file_raises(project):
    def write(texts: list[str]) -> None:
        (project / "toolrt.yaml").write_text(texts[0])

    found = []
    for path, values in places(ProjectFile):
        for value in values:
            found += culprits(project, [laid({"vars": {"v": "1"}}, path, value)], write)

    assert found == []
