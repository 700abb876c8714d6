"""What an http tool sends: json, form or a text with values, and arguments swept into it."""

from collections.abc import Sequence
from typing import Any, Protocol

from pydantic_core import PydanticSerializationError, to_json

from toolrt.bindings.base import BindContext
from toolrt.bindings.http_fields import Pairs
from toolrt.bindings.http_swept import Swept
from toolrt.core.errors import RefusedError
from toolrt.core.faults import Path
from toolrt.expressions.references import Reference
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.expressions.slots import FORM, JSON_TEXT, TEXT, XML, Slot
from toolrt.expressions.templates import Tree


class Body(Protocol):
    """A body of one tool; `content_type` is sent unless the tool writes its own."""

    content_type: str

    @property
    def references(self) -> Sequence[Reference]: ...

    def render(self, scope: Scope) -> bytes | None:
        """The bytes of one call, None when there is nothing to send. Raises CallError."""
        ...

    def masked(self, scope: Scope) -> Any:
        """What `render` would send, for people, with references as they are written."""
        ...


class JsonBody:
    content_type = "application/json"

    def __init__(self, tree: Tree, swept: Swept | None) -> None:
        self._tree = tree
        self._swept = swept
        self.references = tree.references

    def render(self, scope: Scope) -> bytes | None:
        value = self._with_swept(self._tree.render(scope), scope)
        if value is ABSENT:
            return None
        try:
            return to_json(value)
        except PydanticSerializationError:
            raise RefusedError(
                "the arguments hold text that is no valid Unicode", code="invalid-arguments"
            ) from None

    def masked(self, scope: Scope) -> Any:
        value = self._with_swept(self._tree.masked(scope), scope)
        return None if value is ABSENT else value

    def _with_swept(self, value: Any, scope: Scope) -> Any:
        if self._swept is None:
            return value
        return {**dict(self._swept.items(scope)), **(value or {})}


class FormBody:
    content_type = "application/x-www-form-urlencoded"

    def __init__(self, pairs: Pairs, swept: Swept | None) -> None:
        self._pairs = pairs
        self._swept = swept
        self.references = pairs.references

    def render(self, scope: Scope) -> bytes | None:
        return "&".join(self._pairs.render(scope) + self._more(scope)).encode()

    def masked(self, scope: Scope) -> str:
        return "&".join(self._pairs.masked(scope) + self._more(scope))

    def _more(self, scope: Scope) -> list[str]:
        return self._pairs.of(self._swept.items(scope)) if self._swept else []


class TextBody:
    """A text whose values are escaped as its media type wants it."""

    def __init__(self, media_type: str, text: str, context: BindContext, path: Path) -> None:
        self.content_type = media_type
        self._template = context.template(text, path, slot_of(media_type))
        self.references = self._template.references

    def render(self, scope: Scope) -> bytes | None:
        text = self._template.text(scope)
        return None if text is ABSENT else text.encode()

    def masked(self, scope: Scope) -> str | None:
        text = self._template.masked(scope)
        return None if text is ABSENT else text


def slot_of(media_type: str) -> Slot:
    """How values are escaped inside a text of that type."""
    kind = media_type.partition(";")[0].strip().lower()
    if kind.endswith(("/xml", "+xml", "/html")):
        return XML
    if kind.endswith(("/json", "+json")):
        return JSON_TEXT
    return FORM if kind == FormBody.content_type else TEXT
