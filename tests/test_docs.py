"""The pages tell the truth: tables equal the code, snippets run and print what they say."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pages
import pytest
import transcripts
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from toolrt.bindings.base import KINDS, Spec, kind
from toolrt.bindings.limits import Limits
from toolrt.bindings.sandbox import Sandbox
from toolrt.core.errors import CODES
from toolrt.faces.cli.main import VERBS, cli
from toolrt.manifest import planned
from toolrt.manifest.limits import Breaker, Cache, Rate, Retry, Timeout
from toolrt.manifest.parameters import OWN_WORDS
from toolrt.manifest.policy import Approval, PoliciesFile, Rule
from toolrt.manifest.project import ProjectFile
from toolrt.manifest.result import Fallback, Hitl, IdempotencyKey, Poll, ResultOptions, Verify
from toolrt.manifest.scalars import duration_s, size_bytes
from toolrt.manifest.target import Auth, Target
from toolrt.manifest.tool import ToolManifest, ToolsFile

ROOT, DOCS = pages.ROOT, pages.DOCS
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
MODELS: list[tuple[str, type[BaseModel], tuple[str, ...], str]] = [
    ("A tools file", ToolsFile, planned.TOOLS_FILE, ""),
    ("A tool", ToolManifest, planned.TOOL, ""),
    ("`timeout`", Timeout, (), ""),
    ("`retry`", Retry, (), ""),
    ("`breaker`", Breaker, (), ""),
    ("`rate`", Rate, (), ""),
    ("`cache`", Cache, (), ""),
    ("`fallback`", Fallback, (), ""),
    ("`verify`", Verify, (), ""),
    ("`idempotency_key`", IdempotencyKey, (), ""),
    ("`poll`", Poll, (), ""),
    ("`result`", ResultOptions, planned.TOOL, "result."),
    ("`hitl`", Hitl, planned.TOOL, "hitl."),
    ("A target", Target, planned.TOOLS_FILE, "targets.*."),
    ("`auth`", Auth, planned.TOOLS_FILE, "targets.*.auth."),
    *((f"`{name}`", kind(name).spec, planned.TOOL, f"{name}.") for name in KINDS),
    ("`limits` of a command or script", Limits, (), ""),
    ("`sandbox` of a command or script", Sandbox, (), ""),
    ("A policies file", PoliciesFile, planned.POLICIES_FILE, ""),
    ("A rule", Rule, (), ""),
    ("`approval`", Approval, (), ""),
    ("toolrt.yaml", ProjectFile, planned.PROJECT_FILE, ""),
]


def keys_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by the key that people write."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


@pytest.mark.parametrize(("title", "model", "later", "prefix"), MODELS, ids=[m[0] for m in MODELS])
def test_every_key_that_works_is_told_with_its_default(
    title: str, model: type[BaseModel], later: tuple[str, ...], prefix: str
) -> None:
    page = "kinds.md" if issubclass(model, Spec) else "manifest.md"
    told = {key: default for key, default, _ in pages.rows(page, title)}
    works = {key: field for key, field in keys_of(model).items() if f"{prefix}{key}" not in later}

    assert told.keys() == works.keys()
    assert {key for key, field in works.items() if not is_default(told[key], field)} == set()


def of_a_kind(key: str) -> bool:
    return key.partition(".")[0] in KINDS and "." in key


@pytest.mark.parametrize(
    ("page", "title", "keys"),
    [
        ("manifest.md", "Later in a tool", [key for key in planned.TOOL if not of_a_kind(key)]),
    ],
)
def test_every_key_that_comes_later_is_told_as_such(page: str, title: str, keys: Any) -> None:
    assert [key for key, _ in pages.rows(page, title)] == list(keys)


def models_of(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that a value of this type may be."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from models_of(inner)


def inner_keys(model: type[BaseModel], seen: frozenset[Any] = frozenset()) -> set[str]:
    """The keys of a model and of all models in it."""
    inner = {one for field in model.model_fields.values() for one in models_of(field.annotation)}
    below = (inner_keys(one, seen | inner) for one in inner - seen)
    return {*keys_of(model), *(key for keys in below for key in keys)}


@pytest.mark.parametrize("model", [ToolsFile, ToolManifest, PoliciesFile, ProjectFile])
def test_every_key_inside_of_a_key_is_told(model: type[BaseModel]) -> None:
    both = (pages.prose(page) for page in ("manifest.md", "testing.md"))
    code = " ".join(each for page in both for each in pages.code(page))

    assert inner_keys(model) - set(re.findall(r"\w+", code)) == set()


@pytest.mark.parametrize("name", KINDS)
def test_every_key_inside_of_a_kind_is_told(name: str) -> None:
    code = " ".join(pages.code(pages.prose("kinds.md")))

    assert inner_keys(kind(name).spec) - set(re.findall(r"\w+", code)) == set()


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


def test_every_word_of_a_parameter_is_told() -> None:
    told = {word for word, _ in pages.rows("manifest.md", "Parameters")}

    assert told == {*OWN_WORDS, "required"}


REPORTERS = {"Fault", "fault", "_fault", "_stop", "PydanticCustomError"}
CODE = re.compile(r"[a-z]+(?:-[a-z]+)+")
LIKELY = re.compile(r"(?:bad|duplicate|invalid|missing|too|unknown|unsupported|wrong)-[a-z-]+")


UNASKED = {"too-many-asks", "too-many-pending"}
"""Why a question is not put to people; no diagnostics, though they look like some."""


def test_every_code_of_a_diagnostic_is_told() -> None:
    told = {code for code, _ in pages.rows("diagnostics.md", "Codes")}
    likely = {text for text in constants() if LIKELY.fullmatch(text)}
    of_requests = {code for code, *_ in pages.rows("rest.md", "Problems of requests")}

    assert (reported() | likely) - told - CODES.keys() - UNASKED - of_requests == set()
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


def test_the_example_that_composes_rules_is_told_rule_by_rule() -> None:
    told = [rule for row in pages.rows("policy.md", "All of it together") for rule in named(row[1])]
    written = (ROOT / "examples" / "policies" / "policies.d" / "clinic.yaml").read_text("utf-8")

    assert sorted(told) == sorted(re.findall(r"- id: (\S+)", written))


def named(cell: str) -> list[str]:
    """The names in a cell, whether all of it is code or not."""
    return pages.code(cell) or [cell]


def test_every_verb_is_told() -> None:
    assert re.findall(r"^## `toolrt (\w+)", pages.text("cli.md"), re.MULTILINE) == list(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_flag_of_a_verb_is_told(verb: str) -> None:
    told = re.split(r"^## ", pages.text("cli.md"), flags=re.MULTILINE)
    own = next(part for part in told if part.startswith(f"`toolrt {verb}"))
    command = cli.get_command(None, verb)
    flags = {
        flag for param in command.params[: command.own] for flag in param.opts if flag[0] == "-"
    }

    assert {flag for flag in flags if f"`{flag}" not in own} == set()


def test_every_common_flag_is_told() -> None:
    flags = {flag for param in cli.params for flag in param.opts}

    assert {flag for flag in flags if f"`{flag}" not in pages.text("cli.md")} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_shows_is_what_happens(page: Path, disk: Path) -> None:
    page_text = page.read_text(encoding="utf-8")

    transcripts.write_files(page_text, disk)
    transcripts.assert_true(page_text, disk)


LINKING = [*PAGES, ROOT / "ARCHITECTURE.md", *sorted(ROOT.glob("examples/*/README.md"))]


@pytest.mark.parametrize("page", LINKING, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not is_there(page, *link)] == []


def is_there(page: Path, link: str, anchor: str) -> bool:
    """Whether a file is there, and a heading in it that an anchor names."""
    target = page.parent / link if link else page
    if not anchor or not target.is_file():
        return target.exists()
    titles = re.findall(r"^#+ (.*)", target.read_text(encoding="utf-8"), re.MULTILINE)
    return anchor in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


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
