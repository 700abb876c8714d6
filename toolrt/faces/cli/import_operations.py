"""An OpenAPI document to a file of tools, as `toolrt import openapi` was asked to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolrt.catalog.openapi.manifest import manifest_of, secrets_of
from toolrt.catalog.openapi.mapping import NOWHERE, NoOpenApiError, Options, map_document
from toolrt.catalog.openapi.names import own_spelling
from toolrt.catalog.openapi.reading import document_data
from toolrt.catalog.openapi.report import Mapped, MappedTool
from toolrt.core.globs import tool_pattern
from toolrt.core.names import did_you_mean
from toolrt.faces.exits import Exit, Stop
from toolrt.loading.files import UnreadableError, content
from toolrt.loading.reader import LARGE_LIMIT

_NEXT = "toolrt import openapi --help"
_TAG = "tag:"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for; patterns are names of tools, or `tag:` and tags."""

    spec: str
    name: str | None
    base_url: str | None
    target: str | None
    include: Sequence[str]
    exclude: Sequence[str]


@dataclass(frozen=True, slots=True)
class Imported:
    """The whole document, and the file of the tools that were wanted."""

    spec: str
    mapped: Mapped
    tools: Sequence[MappedTool]
    manifest: Mapping[str, Any]

    def left_out(self) -> Iterator[str]:
        """What is in no tool, a line for each."""
        for each in self.mapped.unmapped:
            yield f"not mapped: {each.what} {each.pointer}: {each.reason}"

    def comments(self) -> list[str]:
        """What the file says at its top: where it is from, and what it needs."""
        mapped = self.mapped
        of = f"{len(self.tools):,} of {mapped.operations:,} operations"
        made = [f"Made by `toolrt import openapi` of {Path(self.spec).name}: {of}."]
        made += [f"It needs {_as_variable(name)}." for name in secrets_of(self.manifest)]
        made += [f"{each.name}: {each.blocked}" for each in self.tools if each.blocked]
        return ["".join(char for char in line if char.isprintable()) for line in made]


def _as_variable(name: str) -> str:
    return f"the secret {name}, as TOOLRT_SECRET_{name.upper()}"


def imported(wanted: Wanted) -> Imported:
    """The file that was asked for. Raises Stop."""
    name = wanted.name or own_spelling(Path(wanted.spec).name.partition(".")[0]) or "api"
    base_url = wanted.base_url.rstrip("/") if wanted.base_url else None
    mapped = _mapped(wanted.spec, Options(name, wanted.target, base_url, own_spelling))
    tools = [tool for tool in mapped.tools if not wanted.include or _fits(tool, wanted.include)]
    tools = [tool for tool in tools if not _fits(tool, wanted.exclude)]
    if not tools:
        is_choice = wanted.include or wanted.exclude
        message = "no operation fits" if is_choice else f"{wanted.spec} has no operations"
        names = [tool.name for tool in mapped.tools]
        patterns = (*wanted.include, *wanted.exclude)
        hint = next(filter(None, (did_you_mean(each, names) for each in patterns)), None)
        raise Stop(Exit.NOT_FOUND, message, code="usage", hint=hint, next_=_NEXT)
    manifest = manifest_of(mapped, name, tools)
    _refuse_nowhere(wanted.spec, manifest)
    return Imported(wanted.spec, mapped, tools, manifest)


def _mapped(spec: str, options: Options) -> Mapped:
    try:
        return map_document(document_data(content(Path(spec), LARGE_LIMIT), spec), options)
    except (NoOpenApiError, UnreadableError) as error:
        message = f"{spec} cannot be used: {error}"
        raise Stop(Exit.USAGE, message, code="usage", next_=_NEXT) from error


def _fits(tool: MappedTool, patterns: Sequence[str]) -> bool:
    return any(
        tool_pattern(pattern.removeprefix(_TAG)).fullmatch(word)
        for pattern in patterns
        for word in (tool.written.get("tags", ()) if pattern.startswith(_TAG) else (tool.name,))
    )


def _refuse_nowhere(spec: str, manifest: Mapping[str, Any]) -> None:
    if all(each["url"] != NOWHERE for each in manifest.get("targets", {}).values()):
        return
    message = f"{spec} does not say where its service is, in a way that counts here"
    hint = "say --base-url https://HOST, or --target NAME for a target of the project"
    raise Stop(Exit.USAGE, message, code="usage", hint=hint, next_=_NEXT)
