"""Which request asks for the next page: by a link's query, by a cursor, or by counting."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn
from urllib.parse import quote, quote_plus, unquote_plus

from pydantic_core import to_json

from toolrt.bindings.http_request import MOST_URL, Draft
from toolrt.bindings.network import Url
from toolrt.core.errors import BindingError
from toolrt.core.results import HttpAnswer
from toolrt.expressions.select import Select
from toolrt.expressions.slots import as_text

Place = Literal["query", "form", "json", "variables"]

_LINK = re.compile(r"<([^<>]*)>((?:[^\"<]|\"[^\"]*\")*)")  # RFC 8288, section 3
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.IGNORECASE)
_HALF = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_IN_QUERY = "!$&'()*+,;=:@/?%-._~[]"


@dataclass(frozen=True, slots=True)
class Paging:
    """How a tool turns pages, compiled.

    `next` is None when pages are counted, or `link` for the header. `pinned` are the names of the
    query that a link may not set, since the manifest fills them with what is not the model's.
    """

    next: Select | Literal["link"] | None
    param: str | None
    place: Place
    items: Select | None
    more: Select | None
    pages: int
    pinned: frozenset[str]

    def items_of(self, value: Any) -> list[Any]:
        """The items of a page. Raises CallError (bad-response)."""
        found = value if self.items is None else self.items.search(value)
        if self.items is None and not isinstance(found, list):
            _refuse("this page is no list", "`items` of `paginate` says where the list is")
        if not isinstance(found, list):
            _refuse(f"there is no list at `{self.items.text if self.items else ''}` in this page")
        return found


class Turn:
    """The way from one page to the next, in one call."""

    def __init__(self, paging: Paging, first: Draft) -> None:
        self._paging = paging
        self._first = first
        self._count: int | None = None

    def after(self, answer: HttpAnswer, items: int) -> Draft | None:
        """The request for the page after `answer`, which had so many items; None when it was the
        last. Raises CallError (bad-response).
        """
        paging = self._paging
        if paging.more is not None and not paging.more.search(answer.value):
            return None
        if paging.next is None:
            return self._counted(items)
        found = self._found(paging.next, answer)
        if found is None:
            return None
        if paging.next == "link" or paging.param is None:
            return self._by_link(str(found))
        return self._with(found)

    def _found(self, wanted: "Select | Literal['link']", answer: HttpAnswer) -> str | float | None:
        if wanted == "link":
            return next_link((answer.headers or {}).get("link", ""))
        found = wanted.search(answer.value)
        if found is None or found is False or found == "":
            return None
        is_number = isinstance(found, int | float) and self._paging.param is not None
        is_text = isinstance(found, str) and not _HALF.search(found)
        if found is True or not (is_text or is_number):
            _refuse(f"there is no link or cursor at `{wanted.text}`")
        return found  # type: ignore[no-any-return]  # what JMESPath finds is of any type

    def _counted(self, items: int) -> Draft | None:
        if items == 0:
            return None
        if self._count is None:
            self._count = self._start()
        self._count += 1
        return self._with(self._count)

    def _start(self) -> int:
        """The number that the first request had itself, or 1."""
        paging, first = self._paging, self._first
        name = paging.param or ""
        if paging.place in {"query", "form"}:
            text = _query(first) if paging.place == "query" else (first.body or b"").decode()
            found: Any = next((v for k, v in map(_named, _pairs(text)) if k == name), None)
        else:
            found = _holder(_document(first), paging.place).get(name)
        return int(found) if re.fullmatch(r"-?[0-9]{1,9}", str(found)) else 1

    def _by_link(self, link: str) -> Draft:
        pairs = _pairs(_query_of(link))
        if self._paging.param is not None:
            wanted = [v for k, v in map(_named, pairs) if k == self._paging.param]
            if not wanted:
                _refuse(f"the link to the next page has no `{self._paging.param}`")
            return self._with(wanted[0])
        pinned = self._paging.pinned
        own = [pair for pair in _pairs(_query(self._first)) if _root(pair) in pinned]
        return self._asking([*own, *(pair for pair in pairs if _root(pair) not in pinned)])

    def _with(self, value: Any) -> Draft:
        """The first request with another value of the parameter."""
        name, place = self._paging.param or "", self._paging.place
        pair = f"{quote_plus(name)}={quote(as_text(value), safe='')}"
        if place == "query":
            return self._asking([*_without(_pairs(_query(self._first)), {name}), pair])
        if place == "form":
            pairs = _without(_pairs((self._first.body or b"").decode()), {name})
            return replace(self._first, body="&".join([*pairs, pair]).encode())
        document = _document(self._first)
        _holder(document, place)[name] = value
        return replace(self._first, body=to_json(document))

    def _asking(self, pairs: list[str]) -> Draft:
        path, url = self._first.url.target.partition("?")[0], self._first.url
        made = Url(url.origin, f"{path}?{'&'.join(pairs)}")
        if len(str(made)) > MOST_URL:
            _refuse("the link to the next page is too long")
        return replace(self._first, url=made)


def next_link(header: str) -> str | None:
    """The target of the first link of relation `next` in the value of a `Link` header."""
    for target, parameters in _LINK.findall(header):
        found = _REL.search(parameters)
        if found and "next" in (found[1] or found[2] or "").lower().split():
            return str(target)
    return None


def _query_of(link: str) -> str:
    """The query of a link, whatever else it says, as it can stand in a URL."""
    query = link.partition("#")[0].partition("?")[2]
    if not query:
        _refuse("the link to the next page has no query, and only that is used")
    if _CONTROL.search(query):
        _refuse("the link to the next page is no URL")
    return quote(query, safe=_IN_QUERY, errors="replace")


def _query(draft: Draft) -> str:
    return draft.url.target.partition("?")[2]


def _pairs(text: str) -> list[str]:
    return [pair for pair in text.split("&") if pair]


def _named(pair: str) -> tuple[str, str]:
    name, _, value = pair.partition("=")
    return unquote_plus(name), unquote_plus(value)


def _root(pair: str) -> str:
    """The name without what stands in brackets."""
    return _named(pair)[0].partition("[")[0]


def _without(pairs: list[str], names: Collection[str]) -> list[str]:
    return [pair for pair in pairs if _named(pair)[0] not in names]


def _document(draft: Draft) -> dict[str, Any]:
    """The body of a request, a new one each time."""
    document = json.loads(draft.body or b"{}")
    return document if isinstance(document, dict) else {}


def _holder(document: dict[str, Any], place: Place) -> dict[str, Any]:
    """Where the parameter stands in a body: of GraphQL among the variables."""
    if place != "variables":
        return document
    held: dict[str, Any] = document.setdefault("variables", {})
    return held


def _refuse(message: str, hint: str | None = None) -> NoReturn:
    raise BindingError(message, code="bad-response", hint=hint)
