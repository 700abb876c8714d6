"""Prompts, resources and toolsets of the files, compiled and checked.

They name tools and files of the project, and texts are templates over what whoever asks gives.
"""

import mimetypes
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolrt.catalog.offer_faults import of_maker, of_name, of_toolset, of_uri, shape_of
from toolrt.catalog.offered import (
    VARIABLE,
    Content,
    OfferedArgument,
    OfferedPrompt,
    OfferedResource,
    Part,
)
from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.faults import Fault, FaultError
from toolrt.core.faults import Path as FaultPath
from toolrt.core.names import did_you_mean
from toolrt.core.versions import meant
from toolrt.expressions.slots import TEXT
from toolrt.expressions.templates import Template, compile_template
from toolrt.expressions.vocabulary import Names
from toolrt.loading.loader import LoadedFiles
from toolrt.loading.offers import WrittenOffers
from toolrt.manifest.offers import Prompt, PromptMessage, Resource, Toolset

Offers = tuple[Mapping[str, Toolset], Mapping[str, OfferedPrompt], Mapping[str, OfferedResource]]


def compile_offers(files: LoadedFiles, entries: Mapping[str, ToolEntry]) -> Offers:
    """All of them by name; faults are reported."""
    offers = _Offers(files, entries)
    for written in files.offers:
        offers.add(written)
    return offers.toolsets, offers.prompts, offers.resources


class _Offers:
    """Those compiled so far."""

    def __init__(self, files: LoadedFiles, entries: Mapping[str, ToolEntry]) -> None:
        self._files = files
        self._entries = entries
        self.toolsets: dict[str, Toolset] = {}
        self.prompts: dict[str, OfferedPrompt] = {}
        self.resources: dict[str, OfferedResource] = {}
        self._uris: dict[str, str] = {}

    def add(self, written: WrittenOffers) -> None:
        for name, prompt in (written.file.prompts or {}).items():
            self._add(self.prompts, written, ("prompts", name), _Prompts(prompt))
        for name, resource in (written.file.resources or {}).items():
            made = _Resources(resource, self._uris)
            self._add(self.resources, written, ("resources", name), made)
            self._uris.setdefault(shape_of(resource.uri), name)
        for name, toolset in (written.file.toolsets or {}).items():
            self._add(self.toolsets, written, ("toolsets", name), _Toolsets(toolset))

    def _add(
        self,
        into: dict[str, Any],
        written: WrittenOffers,
        path: FaultPath,
        made: "_Prompts | _Resources | _Toolsets",
    ) -> None:
        name = str(path[1])
        full = (
            f"{written.namespace}.{name}" if written.namespace and path[0] != "toolsets" else name
        )
        faults = [
            *of_name(name, str(path[0]).removesuffix("s")),
            *made.faults(self._files, self._entries),
        ]
        if full in into:
            message = f"`{full}` is declared twice"
            faults.append(Fault("duplicate-offer", message, (), "rename one", on_key=True))
        self._files.report(written.document, path, *faults)
        if any(fault.severity == "error" for fault in faults):
            return
        into[full] = made.compiled(full, self._files.root)


class _Toolsets:
    """A toolset on its way."""

    def __init__(self, written: Toolset) -> None:
        self._written = written

    def faults(self, files: LoadedFiles, entries: Mapping[str, ToolEntry]) -> Iterator[Fault]:
        """Names and globs that are no tools."""
        if files.knows.tools:
            written = {each.name: None for each in files.tools}
            known = written | {name: each.version for name, each in entries.items()}
            yield from of_toolset(self._written, known)

    def compiled(self, _name: str, _root: Path) -> Toolset:
        return self._written


class _Prompts:
    """A prompt on its way."""

    def __init__(self, written: Prompt) -> None:
        self._written = written
        messages = [PromptMessage(text=written.text)] if written.text is not None else []
        self._messages = written.messages or messages
        names = frozenset(written.arguments)
        optional = frozenset(name for name, each in written.arguments.items() if not each.required)
        self._names = Names(names, optional, frozenset())

    def faults(self, files: LoadedFiles, entries: Mapping[str, ToolEntry]) -> Iterator[Fault]:
        if self._written.tool is not None:
            yield from _of_tool(self._written.tool, ("tool",), files, entries)
            given = tuple(self._written.arguments)
            yield from of_maker("prompt", meant(self._written.tool, entries), given)
        for at, message in enumerate(self._messages):
            place: FaultPath = () if self._written.text is not None else ("messages", at)
            yield from _of_text(message.text, (*place, "text"), self._names)
            yield from _of_text(message.resource, (*place, "resource"), self._names)
            yield from _of_file(message.file, (*place, "file"), files.root)

    def compiled(self, name: str, root: Path) -> OfferedPrompt:
        written = self._written
        arguments = tuple(
            OfferedArgument(key, each.description, each.required, tuple(each.values))
            for key, each in written.arguments.items()
        )
        parts = tuple(self._part(message, root) for message in self._messages)
        print_ = written.model_dump_json()
        return OfferedPrompt(
            name, written.title, written.description, arguments, parts, written.tool, print_
        )

    def _part(self, message: PromptMessage, root: Path) -> Part:
        content = _content(message.text, message.file, message.type, root, self._names)
        resource = message.resource
        named = None if resource is None else compile_template(resource, TEXT, self._names)
        return Part(message.role, content, named)


class _Resources:
    """A resource on its way."""

    def __init__(self, written: Resource, uris: Mapping[str, str]) -> None:
        """`uris` are those of other resources, with their names."""
        self._written = written
        self._uris = uris
        self._variables = VARIABLE.findall(written.uri)
        self._names = Names(frozenset(self._variables), roots=frozenset())

    def faults(self, files: LoadedFiles, entries: Mapping[str, ToolEntry]) -> Iterator[Fault]:
        written = self._written
        if ":" not in written.uri or written.uri.startswith("toolrt:"):
            hint = "begin it with a scheme of your own, such as `docs://`"
            yield Fault("bad-uri", f"`{written.uri}` is no URI for a resource", ("uri",), hint)
        if len(set(self._variables)) < len(self._variables):
            yield Fault("bad-uri", f"`{written.uri}` has a name twice", ("uri",))
        for name in written.values:
            if name not in self._variables:
                near = did_you_mean(name, self._variables)
                message = f"the URI has no `{{{name}}}`"
                yield Fault("unknown-name", message, ("values", name), near, on_key=True)
        yield from of_uri(written.uri, self._uris)
        if written.tool is not None:
            yield from _of_tool(written.tool, ("tool",), files, entries)
            yield from of_maker("resource", meant(written.tool, entries), self._variables)
        yield from _of_text(written.text, ("text",), self._names)
        yield from _of_file(written.file, ("file",), files.root)

    def compiled(self, name: str, root: Path) -> OfferedResource:
        written = self._written
        content = _content(written.text, written.file, written.type, root, self._names)
        values = {key: tuple(each) for key, each in written.values.items()}
        return OfferedResource(
            name,
            written.uri,
            written.title,
            written.description,
            content,
            written.tool,
            values,
            written.model_dump_json(),
        )


def _of_tool(
    name: str, path: FaultPath, files: LoadedFiles, entries: Mapping[str, ToolEntry]
) -> Iterator[Fault]:
    """A name that no tool has; what is wrong with one that has errors is told there."""
    names = [written.name for written in files.tools]
    if meant(name, entries) is None and name not in names and files.knows.tools:
        hint = did_you_mean(name, names)
        yield Fault("no-such-tool", f"`{name}` is no tool of this project", path, hint)


def _of_text(text: str | None, path: FaultPath, names: Names) -> Iterator[Fault]:
    if text is None:
        return
    try:
        template = compile_template(text, TEXT, names)
    except FaultError as error:
        yield from error.under(*path)
        return
    if template.references:
        message = "clients get this text, and no reference of it"
        yield Fault("bad-reference", message, path, "take it out: it would be told")


def _of_file(name: str | None, path: FaultPath, root: Path) -> Iterator[Fault]:
    if name is None:
        return
    whole = (root / name).resolve()
    if not whole.is_relative_to(root.resolve()):
        message = f"`{name}` is not in the project's folder"
        yield Fault("file-not-found", message, path, "put it there")
    elif not whole.is_file():
        yield Fault("file-not-found", f"there is no file `{name}` in this project", path)


def _content(
    text: str | None, file: str | None, type_: str | None, root: Path, names: Names
) -> Content:
    made: Template | None = None if text is None else compile_template(text, TEXT, names)
    guessed = mimetypes.guess_type(file)[0] if file else None
    usual = "text/plain" if file is None else "application/octet-stream"
    media_type = type_ or guessed or usual
    return Content(media_type, made, None if file is None else root / file)
