"""The pages tell the truth: tables equal the code, snippets run and print what they say."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import transcripts
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from toolrt.bindings.base import KINDS, Spec, kind
from toolrt.bindings.limits import Limits
from toolrt.core.errors import CODES
from toolrt.faces.cli.main import VERBS, cli
from toolrt.faces.exits import MEANING
from toolrt.manifest import planned
from toolrt.manifest.limits import Retry, Timeout
from toolrt.manifest.parameters import OWN_WORDS
from toolrt.manifest.policy import PoliciesFile
from toolrt.manifest.project import ProjectFile
from toolrt.manifest.result import ResultOptions
from toolrt.manifest.scalars import duration_s, size_bytes
from toolrt.manifest.target import Auth, Target
from toolrt.manifest.tool import ToolManifest, ToolsFile

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def rows(page: str, title: str) -> Iterator[list[str]]:
    """The cells of the first table below a heading, code without its backticks."""
    below = text(page).split(f"\n## {title}\n")[1].split("\n## ")[0]
    table = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)
    lines = table[0].splitlines()[2:] if table else []
    return (
        [cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines
    )


LATER_OPTIONS = (*planned.TOOL, "command.sandbox", "shell.sandbox")
MODELS: list[tuple[str, type[BaseModel], tuple[str, ...], str]] = [
    ("A tools file", ToolsFile, planned.TOOLS_FILE, ""),
    ("A tool", ToolManifest, planned.TOOL, ""),
    ("`timeout`", Timeout, (), ""),
    ("`retry`", Retry, (), ""),
    ("`result`", ResultOptions, planned.TOOL, "result."),
    ("A target", Target, planned.TOOLS_FILE, "targets.*."),
    ("`auth`", Auth, planned.TOOLS_FILE, "targets.*.auth."),
    ("A policies file", PoliciesFile, planned.POLICIES_FILE, ""),
    *((f"`{name}`", kind(name).spec, LATER_OPTIONS, f"{name}.") for name in KINDS),
    ("`limits` of a command or script", Limits, (), ""),
    ("toolrt.yaml", ProjectFile, planned.PROJECT_FILE, ""),
]


@pytest.mark.parametrize(("title", "model", "later", "prefix"), MODELS, ids=[m[0] for m in MODELS])
def test_every_key_is_told_with_its_default_and_whether_it_works(
    title: str, model: type[BaseModel], later: tuple[str, ...], prefix: str
) -> None:
    page = "kinds.md" if issubclass(model, Spec) else "manifest.md"
    told = {key: (default, now) for key, default, now, _ in rows(page, title)}

    assert told.keys() == {field.alias or name for name, field in model.model_fields.items()}
    for name, field in model.model_fields.items():
        default, now = told[field.alias or name]
        assert is_default(default, field), (name, default, field.default)
        assert now == ("not yet" if f"{prefix}{name}" in later else "yes"), name


def is_default(told: str, field: FieldInfo) -> bool:
    """Whether a cell says what a field has when nothing is written."""
    value: Any = field.get_default(call_default_factory=True)
    if field.is_required():
        return told == "required"
    if value is None or value in ([], {}):
        return told == "—"
    if isinstance(value, BaseModel):
        return told == "see below"
    if isinstance(value, bool):
        return told == str(value).lower()
    value = value[0] if isinstance(value, list) else value
    return told == value or value in numbers(told)


def numbers(told: str) -> Iterator[float]:
    """What a cell may mean as a number: plain, a duration, a size."""
    for read in (float, duration_s, size_bytes):
        try:
            yield read(told)
        except ValueError:
            continue


def test_every_code_is_told_with_its_exit_status() -> None:
    told = {code: int(status) for code, status, _ in rows("errors.md", "Codes of calls")}

    assert told == CODES


def test_every_word_of_a_parameter_is_told() -> None:
    told = {word for word, _ in rows("manifest.md", "Parameters")}

    assert told == {*OWN_WORDS, "required"}


REPORTERS = {"Fault", "fault", "_fault", "_stop", "PydanticCustomError"}
CODE = re.compile(r"[a-z]+(?:-[a-z]+)+")
LIKELY = re.compile(r"(?:bad|duplicate|invalid|missing|too|unknown|unsupported|wrong)-[a-z-]+")


def test_every_code_of_a_diagnostic_is_told() -> None:
    told = {code for code, _ in rows("diagnostics.md", "Codes")}
    likely = {text for text in constants() if LIKELY.fullmatch(text)}

    assert (reported() | likely) - told - CODES.keys() == set()
    assert told - set(constants()) == set()


def trees() -> Iterator[ast.Module]:
    return (ast.parse(path.read_text("utf-8")) for path in (ROOT / "toolrt").rglob("*.py"))


def constants() -> Iterator[str]:
    """Every text that stands in the code."""
    nodes = (node for tree in trees() for node in ast.walk(tree))
    return (n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))


def reported() -> set[str]:
    """The codes that are handed to what reports a fault."""
    calls = (node for tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Call))
    firsts = (call.args[0] for call in calls if call.args and reporter(call) in REPORTERS)
    texts = (first.value for first in firsts if isinstance(first, ast.Constant))
    return {text for text in texts if isinstance(text, str) and CODE.fullmatch(text)}


def reporter(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def test_every_exit_status_is_told() -> None:
    told = {int(status): meaning for status, meaning in rows("errors.md", "Exit statuses")}

    assert told == {int(status): meaning for status, meaning in MEANING.items()}


def test_every_verb_is_told() -> None:
    assert re.findall(r"^## `toolrt (\w+)", text("cli.md"), re.MULTILINE) == list(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_flag_of_a_verb_is_told(verb: str) -> None:
    told = re.split(r"^## ", text("cli.md"), flags=re.MULTILINE)
    own = next(part for part in told if part.startswith(f"`toolrt {verb}"))
    command = cli.get_command(None, verb)
    flags = {
        flag for param in command.params[: command.own] for flag in param.opts if flag[0] == "-"
    }

    assert {flag for flag in flags if f"`{flag}" not in own} == set()


def test_every_common_flag_is_told() -> None:
    flags = {flag for param in cli.params for flag in param.opts}

    assert {flag for flag in flags if f"`{flag}" not in text("cli.md")} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_shows_is_what_happens(page: Path, tmp_path: Path) -> None:
    page_text = page.read_text(encoding="utf-8")

    transcripts.write_files(page_text, tmp_path)
    transcripts.assert_true(page_text, tmp_path)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "ARCHITECTURE.md"], ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_decision_is_in_the_list() -> None:
    decisions = DOCS / "decisions"
    told = set(re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (decisions / "README.md").read_text()))

    assert told == {path.name for path in decisions.glob("[0-9]*.md")}


def test_the_readme_fits_a_screen() -> None:
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("\n") <= 60


def test_a_page_that_lies_is_noticed(tmp_path: Path) -> None:
    page = "```console\n$ echo one two\none …\n$ false\n$ echo $?\n…\n1\n```\n"

    transcripts.assert_true(page, tmp_path)
    with pytest.raises(AssertionError, match=r"\$ echo one two\none two\n"):
        transcripts.assert_true(page.replace("one …", "three …"), tmp_path)
