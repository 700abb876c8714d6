"""From `HttpSpec` to a request plan and an endpoint; what a manifest gets wrong shows here."""

import re
from typing import Any
from urllib.parse import unquote_plus

from toolrt.bindings.base import BindContext
from toolrt.bindings.http_body import Body, FormBody, JsonBody, TextBody
from toolrt.bindings.http_fields import Headers, Pairs
from toolrt.bindings.http_graphql import GraphqlBody, check_query
from toolrt.bindings.http_multipart import MultipartBody, multipart_type
from toolrt.bindings.http_next import Paging
from toolrt.bindings.http_paging import compile_paging
from toolrt.bindings.http_request import RequestPlan
from toolrt.bindings.http_spec import HttpSpec
from toolrt.bindings.http_swept import Swept
from toolrt.bindings.http_target import (
    Service,
    check_host,
    check_twice,
    compile_guard,
    service_of,
)
from toolrt.bindings.http_url import (
    Route,
    WrittenUrl,
    compile_path,
    compile_query,
    read_written,
    without_values,
)
from toolrt.bindings.network import Endpoint, Guard
from toolrt.core.names import did_you_mean
from toolrt.expressions.slots import FORM, QUERY
from toolrt.expressions.templates import Template

_QUERY_NAME = re.compile(r"(?:^|&)([^=&]*)")
_ACCEPT = {
    "json": "application/json",
    "csv": "text/csv, */*;q=0.1",
    "xml": "application/xml, text/xml, */*;q=0.1",
    "sse": "text/event-stream",
}


def compile_http(
    spec: HttpSpec, context: BindContext
) -> tuple[RequestPlan, Endpoint, Paging | None] | None:
    """Compile an http tool; None when its `url` or `target` is at fault, which is reported."""
    _check_choices(spec, context)
    service = _service(spec, context)
    url = read_written(spec.url, context, "url")
    route = _route(url, service, spec, context) if url else None
    headers = service.headers.copy() if service else Headers()
    headers.add(spec.headers, context, "headers")
    check_twice(spec.headers, service, context)
    _add_key(headers, context)
    query = Pairs(spec.query, context, ("query",), QUERY)
    body = _Bodies(spec, context)
    paging = compile_paging(spec, _name_of_key(service), url.query if url else None, context)
    if route is None:
        return None
    taken = _names_in_url(url) | query.names | _name_of_key(service)
    plan = RequestPlan(
        spec.verb,
        route,
        query,
        _swept(context, taken) if spec.args_in == "query" else None,
        *headers.finish(_defaults(spec, body.content_type)),
        body.finish(),
        service.credential if service else None,
        service.signer if service else None,
    )
    _check_unused(spec, context)
    return plan, _endpoint(spec, route, service, context), paging


def _add_key(headers: Headers, context: BindContext) -> None:
    """The header by which the service knows a repetition. What the key is made of goes where it
    would go without.
    """
    if context.idempotency is None:
        return
    name, text = context.idempotency
    if name in headers:
        message = f"`headers` sets `{name}` already"
        context.fault("header-twice", message, "/", "idempotency_key", on_key=True)
    used = set(context.used)
    headers.add({name: text}, context, "/", "idempotency_key")
    context.used = used


class _Bodies:
    """The body of a tool: its templates first, and what is swept in once all names are known."""

    def __init__(self, spec: HttpSpec, context: BindContext) -> None:
        self._spec = spec
        self._context = context
        self._tree = context.tree(spec.json_body, ("json",))
        self._pairs = Pairs(spec.form or {}, context, ("form",), FORM)
        self._text: TextBody | None = None
        if spec.body is not None:
            self._text = TextBody(spec.body.type, spec.body.text, context, ("body", "text"))
        self._parts = context.tree(spec.multipart or {}, ("multipart",))
        variables = spec.graphql.variables if spec.graphql else {}
        self._variables = context.tree(variables, ("graphql", "variables"))

    @property
    def content_type(self) -> str | None:
        if self._text is not None:
            return self._text.content_type
        if self._is("form"):
            return FormBody.content_type
        if self._is("multipart"):
            return multipart_type(self._context.tool)
        return JsonBody.content_type if self._is("json") or self._spec.graphql else None

    def finish(self) -> Body | None:
        spec = self._spec
        if self._text is not None:
            return self._text
        if self._is("form"):
            return FormBody(self._pairs, self._swept("form", spec.form))
        if self._is("json"):
            return JsonBody(self._tree, self._swept("json", spec.json_body))
        if self._is("multipart"):
            swept = self._swept("multipart", spec.multipart)
            return MultipartBody(self._parts, swept, self._context)
        if spec.graphql is None:
            return None
        swept = self._swept("variables", spec.graphql.variables)
        return GraphqlBody(spec.graphql.query, self._variables, swept)

    def _is(self, name: str) -> bool:
        return name in self._spec.bodies() or self._spec.args_in == name

    def _swept(self, name: str, written: Any) -> Swept | None:
        if self._spec.args_in != name:
            return None
        return _swept(self._context, frozenset(written or ()))


def _check_choices(spec: HttpSpec, context: BindContext) -> None:
    bodies = spec.bodies()
    if len(bodies) > 1:
        message = f"`{bodies[0]}` and `{bodies[1]}`: a request has one body"
        context.fault("one-body", message, bodies[1], on_key=True)
    place = spec.args_in
    if place not in {None, "query", "variables"} and bodies and bodies[0] != place:
        message = f"`args_in: {place}` does not go with `{bodies[0]}`"
        context.fault("one-body", message, "args_in")
    if place == "json" and spec.json_body is not None and not isinstance(spec.json_body, dict):
        message = "`args_in: json` needs `json` to be a mapping, or left out"
        context.fault("wrong-type", message, "json")
    if place == "variables" and spec.graphql is None:
        message = "`args_in: variables` goes with `graphql`"
        context.fault("one-body", message, "args_in")
    _check_graphql(spec, context)
    _check_multipart(spec, context)
    if spec.method is None and spec.graphql is None and spec.has_body():
        message = "a request with a body needs a `method`"
        at = bodies[0] if bodies else "args_in"
        context.fault("missing-key", message, at, on_key=True, hint="such as `method: POST`")


def _check_graphql(spec: HttpSpec, context: BindContext) -> None:
    if spec.graphql is None:
        return
    check_query(spec.graphql, context)
    if spec.verb != "POST":
        message = f"an operation of GraphQL is sent by POST, not by {spec.method}"
        context.fault("invalid-value", message, "method", hint="leave `method` out")


def _check_multipart(spec: HttpSpec, context: BindContext) -> None:
    if spec.multipart is None and spec.args_in != "multipart":
        return
    for name in spec.headers:
        if name.lower() == "content-type":
            message = "`multipart` sets `Content-Type`, with the line that parts its parts"
            context.fault("header-twice", message, "headers", name, on_key=True)


def _service(spec: HttpSpec, context: BindContext) -> Service | None:
    if spec.target is None:
        return None
    if spec.target in context.targets:
        return service_of(spec.target, context)
    message = f"there is no target `{spec.target}`"
    hint = did_you_mean(spec.target, context.targets) or "declare it under `targets`"
    context.fault("unknown-target", message, "target", hint=hint)
    return None


def _route(
    url: WrittenUrl, service: Service | None, spec: HttpSpec, context: BindContext
) -> Route | None:
    path, query = compile_path(url, context, "url"), compile_query(url, context, "url")
    if url.origin is None:
        if service is None:
            _check_has_target(spec, context)
            return None
        return Route(service.origin, service.path, path, query)
    base = service.path.source if service else ""
    is_inside = url.path == base or url.path.startswith(f"{base}/")
    if service and not (url.origin == service.origin and is_inside):
        message = f"this `url` is not under the url of target `{spec.target}`"
        hint = "write `target: null` if the target is not meant"
        context.fault("outside-target", message, "url", hint=hint)
    return Route(url.origin, Template.constant(""), path, query)


def _check_has_target(spec: HttpSpec, context: BindContext) -> None:
    if spec.target is None:
        message = "a `url` without a host needs a `target`"
        hint = "name one with `target`, or begin with https://"
        context.fault("no-target", message, "url", hint=hint)


def _check_unused(spec: HttpSpec, context: BindContext) -> None:
    if spec.args_in is None:
        hint = "name it in a template, or say with `args_in` where arguments go"
        context.warn_of_unused(hint)


def _swept(context: BindContext, taken: frozenset[str]) -> Swept:
    bound = frozenset(context.input_schema.get("properties", ())) - context.visible
    return Swept(bound | context.used, taken)


def _names_in_url(url: WrittenUrl | None) -> frozenset[str]:
    if url is None or not url.query:
        return frozenset()
    return frozenset(map(unquote_plus, _QUERY_NAME.findall(without_values(url.query))))


def _name_of_key(service: Service | None) -> frozenset[str]:
    credential = service.credential if service else None
    is_query = credential is not None and credential.place == "query"
    return frozenset([credential.name]) if credential and is_query else frozenset()


def _defaults(spec: HttpSpec, content_type: str | None) -> dict[str, str]:
    made = {
        "User-Agent": "toolrt",
        "Accept": _ACCEPT.get(spec.output or "", "application/json" if spec.graphql else "*/*"),
        "Accept-Encoding": "gzip",
    }
    return {**made, "Content-Type": content_type} if content_type else made


def _endpoint(
    spec: HttpSpec, route: Route, service: Service | None, context: BindContext
) -> Endpoint:
    target = service.target if service else None
    guard = service.guard if service else Guard()
    if spec.allow_private is not None:
        guard = compile_guard(spec.allow_private, context)
    if service is None:
        check_host(route.origin, guard, context)
    follows = spec.redirects if spec.redirects is not None else bool(target and target.redirects)
    timeout_s = target.timeout if target and target.timeout else context.connect_timeout_s
    tls = service.tls if service else None
    return Endpoint(route.origin, guard, timeout_s, follows, tls)
