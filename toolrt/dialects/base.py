"""What a dialect is, the table of all of them, and what their files share.

A dialect is a module: it exports tools for a vendor's request, parses the calls in the vendor's
answer, and formats results as the messages that go back. Nothing here makes a call.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import import_module
from typing import Any, Literal, NamedTuple, Protocol, cast

from toolrt.core.errors import RefusedError
from toolrt.core.hosted import APART, Hosted
from toolrt.core.names import did_you_mean
from toolrt.core.results import ToolResult
from toolrt.dialects.names import WireNames
from toolrt.schemas.canonical import canonical_json
from toolrt.schemas.plain import without_surrogates
from toolrt.schemas.profiles import Profile
from toolrt.schemas.rewriting import Change
from toolrt.schemas.strict import loosened, rewritten
from toolrt.schemas.text import parse_json

Strict = Literal["auto", "always", "never"]
"""Whether schemas are what a vendor can hold a model to: where they can be, all of them, none."""

STRICT: tuple[Strict, ...] = ("auto", "always", "never")

DIALECTS: Mapping[str, str] = {
    "openai": "toolrt.dialects.openai",
    "openai_responses": "toolrt.dialects.openai_responses",
    "anthropic": "toolrt.dialects.anthropic",
    "google": "toolrt.dialects.google",
    "mcp": "toolrt.dialects.mcp",
    "python": "toolrt.dialects.python",
}
"""Dialect -> its module. A new one is one file and one line here."""

_DEEPEST_OBJECTS = 4

MOST_CALLS = 1000
"""Calls in one answer: no model asks for as many, and each takes time before anybody is asked."""

CUT_OFF = "{"
"""Stands for arguments that a vendor read in part: JSON that ends too early, and is refused so."""


class Offered(Protocol):
    """What a dialect is told of a tool; a `ToolEntry` is one."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def title(self) -> str | None: ...
    @property
    def description(self) -> str: ...
    @property
    def deprecated(self) -> str | None: ...
    @property
    def effect(self) -> str: ...
    @property
    def is_idempotent(self) -> bool: ...
    @property
    def input_schema(self) -> Mapping[str, Any]: ...
    @property
    def told_schema(self) -> Mapping[str, Any] | None: ...
    @property
    def hosted(self) -> Hosted | None: ...


class ToolCall(NamedTuple):
    """One call as a model asked for it.

    `tool` is our name for it, `name` the vendor's. `arguments` are a mapping, or text that is yet
    to be read: what is wrong with it is a failure of this call alone. `id` is the vendor's, or one
    made here where it gave none, and then `has_id` is false.
    """

    id: str
    tool: str
    arguments: Any
    name: str
    has_id: bool = True


class Told(NamedTuple):
    """What is told of the export of one tool: a downgrade, or why it is left out."""

    tool: str
    path: str
    says: str

    def document(self) -> dict[str, str]:
        """JSON-ready."""
        return self._asdict()


@dataclass(frozen=True, slots=True)
class Export:
    """The tools as a vendor's request has them, by name; what was lost on the way; and a hash of
    the documents, the same as long as a model is told the same. `hosted` are tools of the vendor
    where they stand apart from the others.
    """

    documents: list[dict[str, Any]]
    report: tuple[Told, ...]
    fingerprint: str
    hosted: tuple[dict[str, Any], ...] = ()


class ParseError(RefusedError):
    """An answer that is none of the dialect's, or that ended before its calls did.

    `details` name the dialect, and the place `at` which the fault is.
    """

    def __init__(self, message: str, dialect: str, at: str = "", hint: str | None = None) -> None:
        details = {"dialect": dialect, "at": at}
        super().__init__(message, code="invalid-arguments", hint=hint, details=details)


class Dialect(Protocol):
    """The members of a dialect's module. `IS_TEXT`: its answers are text that is no JSON."""

    NAME: str
    LONGEST_NAME: int
    IS_TEXT: bool

    def export_tools(
        self, tools: Sequence[Offered], names: WireNames, strict: Strict = "auto"
    ) -> Export:
        """Raises RefusedError `unsupported` where `strict` is `always` and a tool cannot be."""

    def is_response(self, response: Any) -> bool:
        """Whether a JSON value looks like an answer of this vendor."""

    def parse_calls(self, response: Any, names: WireNames) -> list[ToolCall]:
        """The calls in their order, none for an answer in words. Raises ParseError."""

    def format_results(
        self, calls: Sequence[ToolCall], results: Sequence[ToolResult], names: WireNames
    ) -> list[dict[str, Any]]:
        """The messages that answer `calls`, one result a call."""


def dialect_named(name: str) -> Dialect:
    """The dialect of that name. Raises RefusedError."""
    if name in DIALECTS:
        return cast("Dialect", import_module(DIALECTS[name]))
    hint = did_you_mean(name, DIALECTS) or f"one of {', '.join(DIALECTS)}"
    raise RefusedError(f"there is no dialect `{name[:100]}`", code="unsupported", hint=hint)


def export(
    tools: Sequence[Offered], dialect: str, strict: Strict = "auto", known: Iterable[str] = ()
) -> Export:
    """These tools for a request of a vendor; `known` are names of others, which they may speak of.

    Raises RefusedError, as `export_tools` does.
    """
    vendor = dialect_named(dialect)
    names = WireNames({*known, *(each.name for each in tools)}, vendor.LONGEST_NAME)
    made = vendor.export_tools([each for each in tools if each.hosted is None], names, strict)
    hosted = sorted((each for each in tools if each.hosted), key=lambda each: each.name)
    return _with_hosted(made, hosted, dialect) if hosted else made


def _with_hosted(made: Export, tools: Sequence[Offered], dialect: str) -> Export:
    """An export with the tools that its vendor runs; those of other vendors are left out."""
    taken = {each.get("name") for each in made.documents} - {None}
    documents: list[dict[str, Any]] = []
    report: list[Told] = []
    for each in tools:
        document = each.hosted and each.hosted.document(dialect)
        if document and document.get("name") not in taken:
            taken |= {document["name"]} if "name" in document else set()
            documents.append(document)
        elif document:
            why = f"another one is `{document['name']}` for the vendor"
            report.append(Told(each.name, "", f"the tool is left out: {why}"))
        elif each.hosted:
            why = f"it runs at {each.hosted.vendor}"
            report.append(Told(each.name, "", f"the tool is left out: {why}"))
    digest = sha256(canonical_json([made.fingerprint, documents])).hexdigest()
    made = replace(made, report=(*made.report, *report))
    if not documents:
        return made
    if dialect in APART:
        return replace(made, hosted=tuple(documents), fingerprint=digest)
    return replace(made, documents=[*made.documents, *documents], fingerprint=digest)


def recognised(response: Any) -> Dialect:
    """The dialect that an answer is written in. Raises ParseError where none knows it."""
    for name in DIALECTS:
        dialect = dialect_named(name)
        if dialect.is_response(response):
            return dialect
    hint = f"name its dialect: one of {', '.join(DIALECTS)}"
    raise ParseError("no dialect knows this answer", "", hint=hint)


def document_of(response: Any) -> Any:
    """An answer as plain data: of an SDK's objects, of JSON text, or as it is.

    Raises ParseError for text that is no JSON.
    """
    if not isinstance(response, str | bytes):
        return _dumped(response, _DEEPEST_OBJECTS)
    try:
        return parse_json(response)
    except RefusedError as error:
        why = error.message.replace("the arguments are", "the answer is")
        raise ParseError(why, "", hint="hand over the answer as JSON") from None


def _dumped(value: Any, depth: int) -> Any:
    """`value` with the objects of SDKs in it, which stand near the top, as data."""
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json", exclude_none=True, warnings=False)
    if depth and isinstance(value, list):
        return [_dumped(each, depth - 1) for each in value]
    if depth and isinstance(value, dict):
        return {key: _dumped(each, depth - 1) for key, each in value.items()}
    return value


def tool_call(
    number: int, id_: object, name: object, arguments: object, names: WireNames
) -> ToolCall:
    """The call that stands `number`th in an answer, of whatever a vendor wrote there.

    A name that is no text names no tool. Arguments that were not sent are none; anything else is
    for the gateway to judge, and never taken for none. Raises ParseError beyond the last that
    one answer may have.
    """
    check_number(number)
    wire = without_surrogates(name) if isinstance(name, str) else ""
    given = {} if arguments is None or arguments == "" else arguments
    if isinstance(id_, str) and id_:
        return ToolCall(without_surrogates(id_), names.own(wire), given, wire)
    return ToolCall(f"call_{number}", names.own(wire), given, wire, has_id=False)


def check_number(number: int) -> None:
    """Raise ParseError for a call that stands beyond the last that one answer may have."""
    if number > MOST_CALLS:
        message = f"the answer has more than {MOST_CALLS:,} calls"
        raise ParseError(message, "", f"call {number}", "ask the model for fewer at once")


def cut_off(call: ToolCall) -> ToolCall:
    """The last call of an answer that ended before it did: without arguments, these are missing."""
    return call._replace(arguments=CUT_OFF) if call.arguments == {} else call


def exported(
    tools: Iterable[Offered],
    names: WireNames,
    make: Callable[[Offered], tuple[dict[str, Any] | None, Iterable[Told]]],
) -> Export:
    """The export of `tools` in the order of their names on the wire, each made by itself."""
    documents: list[dict[str, Any]] = []
    report: list[Told] = []
    for tool in sorted(tools, key=lambda each: names.wire(each.name)):
        document, told = make(tool)
        report += told
        if document is None:
            report.append(Told(tool.name, "", "the tool is left out"))
        else:
            documents.append(document)
    digest = sha256(canonical_json(documents)).hexdigest()
    return Export(documents, tuple(report), digest)


def description_of(tool: Offered, names: WireNames) -> str:
    """What a model is told that a tool is for, and what to use instead of one that is to go."""
    said = tool.description
    if tool.deprecated is not None:
        said = f"{said}\n\nDeprecated: {tool.deprecated}"
    return names.told(said)


def parameters_of(
    tool: Offered, profile: Profile, strict: Strict
) -> tuple[dict[str, Any] | None, bool, list[Told]]:
    """The schema of a tool's arguments, whether it is a strict one, and what was lost.

    None where the vendor takes none of it. Raises RefusedError `unsupported`.
    """
    if strict != "never":
        made = rewritten(tool.input_schema, profile)
        if not made.obstacles:
            return made.schema, True, told_of(tool, made.changes)
        if strict == "always":
            raise _not_strict(tool, made.obstacles[0], profile)
        loose = loosened(tool.input_schema, profile)
        lost = [Change(path, f"not strict: {says}") for path, says in made.obstacles]
        return loose.schema, False, told_of(tool, [*lost, *loose.changes])
    loose = loosened(tool.input_schema, profile)
    return loose.schema, False, told_of(tool, loose.changes)


def told_of(tool: Offered, changes: Iterable[Change]) -> list[Told]:
    return [Told(tool.name, path, says) for path, says in changes]


def _not_strict(tool: Offered, why: Change, profile: Profile) -> RefusedError:
    where = f" at `{why.path}`" if why.path else ""
    return RefusedError(
        f"`{tool.name}` cannot be strict for {profile.name}{where}: {why.says}",
        code="unsupported",
        hint="`--strict auto` leaves such tools as they are, or change the schema there",
        details={"tool": tool.name, "path": why.path},
    )
