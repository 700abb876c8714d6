"""How a target knows us: its `auth`, compiled to one header or one query parameter.

`oauth2` and `python` have to ask first: they are signers, in modules of their own.

Values are templates with references, resolved when a call is made; one that has no value then ends
the call as `missing-credential`, before anything is sent.
"""

import base64
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from toolrt.bindings.base import BindContext
from toolrt.bindings.network import OWN_HEADERS, is_token
from toolrt.core.errors import CallError
from toolrt.core.faults import Path
from toolrt.core.redaction import MASK
from toolrt.expressions.references import Reference
from toolrt.expressions.scope import Scope
from toolrt.expressions.slots import HEADER, QUERY, TEXT
from toolrt.expressions.templates import Template
from toolrt.manifest.target import ApiKeyAuth, Auth

_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")
_COOKIE_VALUE = re.compile(r"[!#-+\--:<-\[\]-~]*")  # RFC 6265, section 4.1.1


@dataclass(frozen=True, slots=True)
class Credential:
    """What is shown of us: where, under which name, and how it is written out of its texts."""

    place: Literal["header", "query"]
    name: str
    templates: tuple[Template, ...]
    write: Callable[[Sequence[str]], str]

    @property
    def references(self) -> tuple[Reference, ...]:
        return tuple(reference for each in self.templates for reference in each.references)

    def text(self, scope: Scope) -> str:
        """The value for one call. Raises CallError (missing-credential)."""
        texts = [template.text(scope) for template in self.templates]
        if not all(texts):
            raise CallError("the credential of this tool is empty", code="missing-credential")
        slot = HEADER if self.place == "header" else QUERY
        try:
            return slot.encode(self.write([str(text) for text in texts]))
        except ValueError:
            message = f"the credential of this tool does not fit into a {self.place}"
        raise CallError(message, code="missing-credential")

    def masked(self, scope: Scope) -> str:
        """The value with references as written; what is computed from them is hidden."""
        if self.write is _basic:
            return f"Basic {MASK}"
        try:
            return self.write([_shown(template, scope) for template in self.templates])
        except ValueError:
            return MASK


def _shown(template: Template, scope: Scope) -> str:
    return MASK if template.is_constant else str(template.masked(scope))


def compile_auth(auth: Auth, context: BindContext, *path: str) -> Credential | None:
    """The credential that `auth` describes; None for a way that has to ask for one."""
    if auth.bearer is not None:
        template = secret_template(auth.bearer, context, (*path, "bearer"))
        if auth.bearer.lower().startswith("bearer "):
            message = "`Bearer` stands before it already, and would be sent twice"
            _warn("doubled-scheme", message, context, (*path, "bearer"), "leave that word out")
        return Credential("header", "Authorization", (template,), _bearer)
    if auth.basic is not None:
        name = context.template(auth.basic.username, (*path, "basic", "username"), TEXT)
        word = secret_template(auth.basic.password, context, (*path, "basic", "password"))
        return Credential("header", "Authorization", (name, word), _basic)
    if auth.api_key is not None:
        return _api_key(auth.api_key, context, (*path, "api_key"))
    return None


def _api_key(key: ApiKeyAuth, context: BindContext, path: Path) -> Credential:
    template = secret_template(key.value, context, (*path, "value"))
    if key.query is not None:
        return Credential("query", key.query, (template,), "".join)
    place = "cookie" if key.header is None else "header"
    name = key.header or key.cookie or ""
    if not is_token(name):
        context.fault("invalid-header", f"`{name}` is no name of a {place}", *path, place)
    if name.lower() in OWN_HEADERS and key.header is not None:
        context.fault("reserved-header", f"`{name}` is set by toolrt alone", *path, place)
    if key.cookie is not None:
        return Credential("header", "Cookie", (template,), _cookie(name))
    return Credential("header", name, (template,), "".join)


def secret_template(text: str, context: BindContext, path: Path) -> Template:
    """The template of a credential, with a warning where it stands in the file in the open."""
    template = context.template(text, path, TEXT)
    if template.is_constant and template.source:
        name = _VARIABLE.fullmatch(text)
        hint = f"write `${{env:{name[1]}}}`" if name else "write `${env:NAME}` or `${secret:name}`"
        what = "is sent as it stands" if name else "stands in the file, for all who read it"
        _warn("constant-credential", f"this credential {what}", context, path, hint)
    return template


def _warn(code: str, message: str, context: BindContext, path: Path, hint: str) -> None:
    context.fault(code, message, *path, hint=hint, severity="warning")


def _bearer(texts: Sequence[str]) -> str:
    return f"Bearer {texts[0]}"


def _basic(texts: Sequence[str]) -> str:
    return f"Basic {base64.b64encode(':'.join(texts).encode()).decode()}"


def _cookie(name: str) -> Callable[[Sequence[str]], str]:
    def write(texts: Sequence[str]) -> str:
        if not _COOKIE_VALUE.fullmatch(texts[0]):
            raise ValueError(name)
        return f"{name}={texts[0]}"

    return write
