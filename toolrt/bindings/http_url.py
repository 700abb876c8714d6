"""The `url` of an http tool or a target: a constant origin, and a path and query with values.

Only what follows the host may hold values (H1); a value in the path is one segment (H4).
"""

import re
from dataclasses import dataclass, replace

from toolrt.bindings.base import BindContext
from toolrt.bindings.network import Origin, read_url
from toolrt.core.errors import RefusedError
from toolrt.core.faults import Path
from toolrt.expressions.references import Reference
from toolrt.expressions.scope import Scope
from toolrt.expressions.slots import PATH_SEGMENT, QUERY, Slot
from toolrt.expressions.templates import Template

_VALUE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\$\{[^{}]*\}", re.DOTALL)
_HEAD = re.compile(r"(?P<scheme>[^/?#]*:)?//[^/?#]*")
_NOT_IN_URL = re.compile(r"[^\0A-Za-z0-9._~!$&'()*+,;=:@/?%\[\]-]")
_DOTS = re.compile(r"(?:^|/)(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)


_Wrong = tuple[str, str, str | None, int | None]  # code, message, hint, offset


@dataclass(frozen=True, slots=True)
class WrittenUrl:
    """A `url` taken apart; `path_at` and `query_at` say where the parts begin in it."""

    origin: Origin | None
    path: str
    query: str | None
    path_at: int
    query_at: int


@dataclass(frozen=True, slots=True)
class Route:
    """Where a tool's requests go: the paths of its target and its own, and what follows the `?`."""

    origin: Origin
    base: Template
    path: Template
    query: Template | None

    @property
    def references(self) -> tuple[Reference, ...]:
        queries = self.query.references if self.query else ()
        return (*self.base.references, *self.path.references, *queries)

    def path_text(self, scope: Scope) -> str:
        """The whole path. Raises RefusedError when values would lead out of where it begins."""
        path = f"{self.base.text(scope)}{self.path.text(scope)}"
        if _DOTS.search(path):
            raise RefusedError("the path would leave its place", code="invalid-arguments")
        return path


def without_values(text: str) -> str:
    """`text` with a NUL in place of every character of a `{{ }}` or `${}`."""
    return _VALUE.sub(lambda match: "\0" * len(match[0]), text) if "{" in text else text


def read_written(text: str, context: BindContext, *path: str) -> WrittenUrl | None:
    """Take a `url` apart; on a fault report it and give None."""
    plain = without_values(text)
    match = _HEAD.match(plain)
    head = match[0] if match else ""
    wrong = _fault_of(plain, head, is_absolute=match is not None)
    if wrong is not None:
        code, message, hint, offset = wrong
        context.fault(code, message, *path, hint=hint, offset=offset)
        return None
    try:
        origin = read_url(head).origin if head else None
    except ValueError as error:
        hint = "credentials go into `auth` of a target" if "@" in head else None
        context.fault("invalid-url", str(error), *path, hint=hint)
        return None
    ends = plain.find("?")
    path_end = len(text) if ends < 0 else ends
    query = None if ends < 0 else text[ends + 1 :]
    path_text = text[len(head) : path_end] or "/"
    return WrittenUrl(origin, path_text, query, len(head), ends + 1)


def part(text: str, context: BindContext, path: Path, slot: Slot, *, at: int) -> Template:
    """Compile a part of a `url` that begins at `at`; faults point into the whole."""
    before = len(context.faults)
    template = context.template(text, path, slot)
    context.faults[before:] = [
        replace(fault, offset=None if fault.offset is None else fault.offset + at)
        for fault in context.faults[before:]
    ]
    return template


def compile_path(url: WrittenUrl, context: BindContext, *path: str) -> Template:
    return part(url.path, context, path, PATH_SEGMENT, at=url.path_at)


def compile_query(url: WrittenUrl, context: BindContext, *path: str) -> Template | None:
    if not url.query:
        return None
    return part(url.query, context, path, QUERY, at=url.query_at)


def _fault_of(plain: str, head: str, *, is_absolute: bool) -> _Wrong | None:
    """Code, message, hint and offset of what is wrong with the constant parts."""
    if "\0" in head or plain.startswith("\0"):
        hint = "begin with http(s)://host, or with / under a target's url"
        message = "scheme and host of a `url` are constant: no value may choose them"
        return "value-in-host", message, hint, plain.index("\0")
    if not is_absolute and not plain.startswith("/"):
        hint = "http(s)://host/path, or /path under a target's url"
        return "invalid-url", "a `url` begins with http://, https:// or /", hint, None
    bad = _NOT_IN_URL.search(plain, len(head))
    if bad is not None and bad[0] in "{}":
        return _brace(plain, bad.start())
    if bad is not None and bad[0] == "#":
        return "invalid-url", "a `url` has no fragment", "leave out `#` and the rest", bad.start()
    if bad is not None:
        return "invalid-url", f"a `url` cannot hold `{bad[0]}`", "percent-encode it", bad.start()
    if _DOTS.search(plain.partition("?")[0], len(head)):
        return "invalid-url", "a `url` has no `.` or `..` segments", None, None
    return None


def _brace(plain: str, offset: int) -> _Wrong | None:
    """A lone brace; half of a `{{` is left to the template compiler, which knows more."""
    if plain.startswith("{{", offset) or plain.startswith("${", offset - 1):
        return None
    return "invalid-url", "a `url` cannot hold a single brace", "a value is `{{ name }}`", offset
