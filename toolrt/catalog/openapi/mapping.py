"""A whole document to tools and targets."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from toolrt.catalog.openapi.names import Spelling, ToolNames, kept_spelling
from toolrt.catalog.openapi.operations import METHODS, Operations
from toolrt.catalog.openapi.refs import Document, Node
from toolrt.catalog.openapi.report import Mapped, MappedTool, NotMappedError, pointer
from toolrt.catalog.openapi.security import (
    NONE,
    Credentials,
    Security,
    UnsupportedSchemeError,
    begin_of,
)
from toolrt.catalog.openapi.servers import NoServerError, server_of
from toolrt.core.unseen import bare
from toolrt.schemas.phrases import visible

NOWHERE = "https://unknown.invalid"
"""Stands for an address that nobody knows: no name ends like that (RFC 2606)."""
_MOST_OF_REASON = 300
_VERSIONS = ("3.0", "3.1")
_NOT_IN_TARGET = re.compile(r"[^a-z0-9_]+")


class NoOpenApiError(Exception):
    """Data that is no document of a version that is known; the message says why."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a project says of a document: `prefix` begins the names of its targets and secrets.
    Targets and secrets that begin like one of `others` are those of other sources and targets.
    """

    prefix: str
    target: str | None = None
    base_url: str | None = None
    spelling: Spelling = kept_spelling
    others: frozenset[str] = frozenset()


def map_document(data: Any, options: Options) -> Mapped:
    """Every operation of a document as a tool. Raises NoOpenApiError."""
    _check_version(data)
    return _Mapping(Document(data), options).mapped()


def _check_version(data: Any) -> None:
    if not isinstance(data, dict):
        raise NoOpenApiError("it is no mapping")
    version = data.get("openapi")
    if "swagger" in data and version is None:
        raise NoOpenApiError("it is Swagger 2.0; convert it to OpenAPI 3.0 or 3.1 first")
    if not isinstance(version, str):
        raise NoOpenApiError("it does not say `openapi: 3.x`, so it is no OpenAPI document")
    if not version.startswith(_VERSIONS):
        raise NoOpenApiError(f"OpenAPI {version[:20]} is not known; 3.0 and 3.1 are")


class _Mapping:
    """One document on its way."""

    def __init__(self, document: Document, options: Options) -> None:
        self._document = document
        self._options = options
        self._operations = Operations(document)
        self._security = Security(document, options.prefix, options.others)
        self._names = ToolNames(options.spelling, document.notes)
        self._targets: dict[str, dict[str, Any]] = {}
        self._target_names: dict[tuple[str, str], str] = {}
        self._server, self._no_server = self._own_server()

    def mapped(self) -> Mapped:
        found = list(self._all())
        tools = [tool for each in found for tool in self._tool(*each)]
        self._note_webhooks()
        info = self._document.root.below("info")
        return Mapped(
            bare(info.text("title"))[:100],
            self._document.version,
            len(found),
            tools,
            self._targets,
            tuple(self._document.notes.found),
        )

    def _all(self) -> Iterator[tuple[str, Node, Node]]:
        """Every operation: its path, the item of that path, and itself."""
        paths = self._document.root.below("paths")
        for path, value in paths.value.items():
            item = self._document.node(value, (*paths.steps, path))
            if item is None or not isinstance(path, str) or path.startswith("x-"):
                continue
            for method in METHODS:
                if isinstance(item.get(method), dict):
                    yield path, item, Node(item.get(method), (*item.steps, method))

    def _tool(self, path: str, item: Node, operation: Node) -> Iterator[MappedTool]:
        method = str(operation.steps[-1])
        try:
            written = self._operations.written(path, item, operation)
            server = self._server_of(item, operation)
        except NotMappedError as error:
            self._document.notes.add("operation", operation.steps, _why(error, operation))
            return
        name = self._names.of(operation.text("operationId"), method, path)
        target, blocked = self._target(server, operation)
        http = {**written["http"], **({"target": target} if target else {})}
        place = f"{method.upper()} {path}"
        why = None if blocked is None else visible(blocked, _MOST_OF_REASON)
        yield MappedTool(name, {**written, "http": http}, place, pointer(operation.steps), why)

    def _own_server(self) -> tuple[str, str]:
        """The address of the service, or why there is none."""
        if self._options.target is not None or self._options.base_url is not None:
            return self._options.base_url or "", ""
        try:
            return server_of(self._document, self._document.root) or "", "it names no server"
        except NoServerError as error:
            return "", str(error)

    def _server_of(self, item: Node, operation: Node) -> str:
        """The address for one operation. Raises NotMappedError."""
        node = operation if operation.items("servers") else item
        if not node.items("servers"):
            return self._server
        steps = (*node.steps, "servers")
        if self._options.target is not None or self._options.base_url is not None:
            raise NotMappedError(steps, "it has a server of its own, not that of the project")
        try:
            return server_of(self._document, node) or self._server
        except NoServerError as error:
            raise NotMappedError(steps, str(error)) from None

    def _target(self, server: str, operation: Node) -> tuple[str | None, str | None]:
        """The name of the target of an operation, and why it cannot be called."""
        if self._options.target is not None:
            return self._options.target, None
        blocked = None if server else f"{self._no_server}: say `base_url` or `target`"
        try:
            credentials = self._security.of(operation)
        except UnsupportedSchemeError as error:
            credentials, blocked = NONE, f"{error}: declare a target, and say `target`"
        return self._target_for(server or NOWHERE, credentials), blocked

    def _target_for(self, server: str, credentials: Credentials) -> str:
        key = server, credentials.key
        if key not in self._target_names:
            name = self._free_name(credentials.key)
            self._target_names[key] = name
            made: dict[str, Any] = {"url": server}
            if credentials.auth:
                made["auth"] = credentials.auth
            if credentials.headers:
                made["headers"] = dict(credentials.headers)
            self._targets[name] = made
        return self._target_names[key]

    def _free_name(self, key: str) -> str:
        prefix = self._options.prefix
        if prefix not in self._targets:
            return prefix
        words = _NOT_IN_TARGET.sub("_", f"{prefix}_{key or 'open'}".lower()).strip("_")
        numbered = (f"{stem}_{number}" for number in count(2) for stem in (words, prefix))
        return next(name for name in chain((words,), numbered) if self._is_free(name))

    def _is_free(self, name: str) -> bool:
        """Whether a target may be called so: nobody else's is, or could be."""
        others = map(begin_of, self._options.others)
        return name not in self._targets and not begin_of(name).startswith(tuple(others))

    def _note_webhooks(self) -> None:
        for name in self._document.root.below("webhooks").value:
            steps = ("webhooks", name)
            self._document.notes.add("other", steps, "webhooks: requests that the service makes")


def _why(error: NotMappedError, operation: Node) -> str:
    place = pointer(error.steps)
    own = pointer(operation.steps)
    return error.reason if place == own else f"{error.reason} (at {place.removeprefix(own)})"
