"""Security schemes to the `auth` of a target: where a credential goes, and which secret it is.

No document holds a credential, so each becomes `${secret:NAME}`, looked up when a call is made.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolrt.bindings.network import OWN_HEADERS, is_token
from toolrt.catalog.openapi.refs import Document, Node, Steps
from toolrt.catalog.openapi.servers import NoServerError, usable

_NOT_IN_SECRET = re.compile(r"[^a-z0-9]+")
_SCOPE = re.compile(r"[!#-\[\]-z|}~]+")  # RFC 6749, section 3.3; no `{`, as in templates


class UnsupportedSchemeError(Exception):
    """A scheme that no target can say; the message says why."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a target needs for one requirement: `key` tells it from others of the document."""

    key: str
    auth: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


NONE = Credentials("")


class Security:
    """The schemes of one document; `prefix` begins the names of its secrets, and those that begin
    like one of `others` are not for it.
    """

    def __init__(
        self, document: Document, prefix: str, others: frozenset[str] = frozenset()
    ) -> None:
        self._document = document
        self._own = begin_of(prefix)
        self._others = {begin_of(each) for each in others} - {self._own}
        self._schemes = document.root.below("components").below("securitySchemes")

    def of(self, operation: Node) -> Credentials:
        """What an operation needs: the first of its alternatives that can be said.

        Raises UnsupportedSchemeError when there is none.
        """
        holder = operation if "security" in operation.value else self._document.root
        choices = holder.items("security")
        if not choices:
            return NONE
        why = ""
        for choice in sorted(choices, key=lambda one: one == {}):  # known callers may do more
            try:
                return self._together(choice if isinstance(choice, dict) else {})
            except UnsupportedSchemeError as error:
                why = why or str(error)
        raise UnsupportedSchemeError(why)

    def _together(self, choice: Mapping[str, Any]) -> Credentials:
        """Schemes that are needed at once: one is the `auth`, others may be headers beside it."""
        auth: Mapping[str, Any] | None = None
        headers: dict[str, str] = {}
        for name, scopes in choice.items():
            made = self._scheme(name, scopes)
            header = made.get("api_key", {}).get("header")
            if auth is None:
                auth = made
            elif header:
                headers[header] = made["api_key"]["value"]
            elif "header" in auth.get("api_key", {}):
                headers[auth["api_key"]["header"]] = auth["api_key"]["value"]
                auth = made
            else:
                raise UnsupportedSchemeError("it needs two credentials at once")
        return Credentials("+".join(choice), auth, headers)

    def _scheme(self, name: str, scopes: Any) -> dict[str, Any]:
        steps: Steps = (*self._schemes.steps, name)
        node = self._document.node(self._schemes.get(name), steps)
        if node is None:
            raise UnsupportedSchemeError(f"there is no security scheme `{name[:60]}`")
        try:
            return self._auth(node, name, scopes)
        except UnsupportedSchemeError as error:
            self._document.notes.add("security", steps, str(error))
            raise

    def _auth(self, node: Node, name: str, scopes: Any) -> dict[str, Any]:
        kind, secret = node.text("type"), self._secret(name)
        if kind == "apiKey":
            return {"api_key": {**_key_place(node), "value": secret}}
        if kind == "http":
            return self._http(node, name)
        if kind == "oauth2":
            return self._oauth2(node, name, scopes)
        if kind == "openIdConnect":
            return {"bearer": secret}
        raise UnsupportedSchemeError(f"`{kind[:40]}` is no scheme that a target has")

    def _http(self, node: Node, name: str) -> dict[str, Any]:
        scheme = node.text("scheme").lower()
        if scheme == "bearer":
            return {"bearer": self._secret(name)}
        if scheme == "basic":
            user, word = self._secret(name, "username"), self._secret(name, "password")
            return {"basic": {"username": user, "password": word}}
        raise UnsupportedSchemeError(f"http `{scheme[:40]}` is no scheme that a target has")

    def _oauth2(self, node: Node, name: str, scopes: Any) -> dict[str, Any]:
        """Client credentials where the document has that flow; else a token is a secret."""
        flow = node.below("flows").below("clientCredentials")
        try:
            url = usable(flow.text("tokenUrl"))
        except NoServerError:
            return {"bearer": self._secret(name)}
        wanted = scopes if isinstance(scopes, list) else ()
        asked = [each for each in wanted if isinstance(each, str) and _SCOPE.fullmatch(each)]
        made = {
            "token_url": url,
            "client_id": self._secret(name, "client_id"),
            "client_secret": self._secret(name, "client_secret"),
        }
        return {"oauth2": {**made, "scopes": asked} if asked else made}

    def _secret(self, *names: str) -> str:
        """A secret of this document, and never that of another. Raises UnsupportedSchemeError."""
        words = _NOT_IN_SECRET.sub("_", "_".join(names).lower()).strip("_")
        own = self._own
        name = words if words.startswith(own) else own + words
        for other in self._others:
            if other.startswith(own) and f"{name}_".startswith(other):
                whose = f"`{other.rstrip('_')}`, which the project has, too"
                raise UnsupportedSchemeError(f"the secret {name[:80]} would be one of {whose}")
        return f"${{secret:{name}}}"


def begin_of(prefix: str) -> str:
    """What the secrets of a source begin with."""
    return _NOT_IN_SECRET.sub("_", prefix.lower()).strip("_") + "_"


def _key_place(node: Node) -> dict[str, str]:
    place, name = node.text("in"), node.text("name")
    if place == "query" and name.isascii() and name.isprintable() and name:
        return {"query": name}
    if place in {"header", "cookie"} and is_field_name(name, place):
        return {place: name}
    raise UnsupportedSchemeError(f"an API key in `{place[:20]}` named `{name[:60]}`")


def is_field_name(name: str, place: str = "header") -> bool:
    """Whether a header, or a cookie, may be called so by anybody but toolrt."""
    return is_token(name) and (place == "cookie" or name.lower() not in OWN_HEADERS)
