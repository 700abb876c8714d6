"""`paginate` compiled: what a manifest gets wrong about pages shows here."""

import re
from collections.abc import Iterable
from typing import Any, Literal

from toolrt.bindings.base import BindContext
from toolrt.bindings.http_next import Paging, Place
from toolrt.bindings.http_spec import HttpSpec, PaginateSpec
from toolrt.core.faults import FaultError
from toolrt.expressions.select import Select, compile_select

_VALUES = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_NAMES = re.compile(r"\w+")


def compile_paging(
    spec: HttpSpec, own: Iterable[str], query: str | None, context: BindContext
) -> Paging | None:
    """How a tool turns pages; None when it has one. `own` are names of the query that a link may
    not set, `query` is that of the url as it is written.
    """
    options = spec.paginate
    if options is None:
        return None
    _check(options, context)
    link: Literal["link"] = "link"
    return Paging(
        next=link if options.next == link else _select(options.next, "next", context),
        param=options.param,
        place=_place(spec, options, context),
        items=_select(options.items, "items", context),
        more=_select(options.more, "more", context),
        pages=options.pages,
        pinned=frozenset(own) | _pinned(spec, query, context),
    )


def _check(options: PaginateSpec, context: BindContext) -> None:
    if options.next is None and options.param is None:
        message = "nothing says which page is the next"
        hint = "`next: link`, `next` with JMESPath, or `param` to count pages"
        context.fault("missing-key", message, "paginate", on_key=True, hint=hint)
    if context.effect != "read":
        message = "pages are asked for again and again, and this tool is not `effect: read`"
        hint = "say `effect: read` if it changes nothing"
        context.fault("pages-of-a-write", message, "paginate", on_key=True, hint=hint)


def _place(spec: HttpSpec, options: PaginateSpec, context: BindContext) -> Place:
    place = options.in_
    if spec.graphql is not None and place in {None, "json"}:
        return "variables"
    if place in {"json", "form"} and place not in {*spec.bodies(), spec.args_in}:
        message = f"the request has no `{place}` to put `{options.param or 'param'}` in"
        context.fault("one-body", message, "paginate", "in")
    if place == "json" and spec.json_body is not None and not isinstance(spec.json_body, dict):
        message = "`in: json` needs `json` to be a mapping"
        context.fault("wrong-type", message, "paginate", "in")
    return place or "query"


def _select(text: str | None, key: str, context: BindContext) -> Select | None:
    if text is None:
        return None
    try:
        return compile_select(text)
    except FaultError as error:
        context.faults.extend(error.under("paginate", key))
        return None


def _pinned(spec: HttpSpec, query: str | None, context: BindContext) -> frozenset[str]:
    """The names of the query that hold what the model may not choose, nor a page for it."""
    bound = frozenset(context.input_schema.get("properties", ())) - context.visible | {"caller"}
    written = {name: str(value) for name, value in spec.query.items()}
    written |= {
        name: text for name, _, text in (p.partition("=") for p in (query or "").split("&"))
    }
    return frozenset(name for name, text in written.items() if _is_ours(text, bound))


def _is_ours(text: Any, bound: frozenset[str]) -> bool:
    values = " ".join(_VALUES.findall(text))
    return "${" in text or not bound.isdisjoint(_NAMES.findall(values))
