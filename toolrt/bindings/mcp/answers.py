"""What a server answered with, as a value: texts, images, resources, links, structured content.

Content goes on in MCP's own form, which every face and dialect of ours knows; what nobody knows is
marked as such. A result that says `isError` is an error.
"""

from collections.abc import Mapping
from typing import Any, Final

from toolrt.core.errors import BindingError
from toolrt.core.results import Answer
from toolrt.core.unseen import harmless

_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
}
_LONGEST_ERROR: Final = 2000


def tidied(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A raw result of tools/call with content that is of a known form alone."""
    content = raw.get("content")
    blocks = content if isinstance(content, list) else []
    return {**raw, "content": [_tidy(each) for each in blocks]}


def answer_of(raw: Mapping[str, Any], *, has_schema: bool) -> Answer:
    """The value of a tidied result. Raises BindingError for one that is an error, or none yet."""
    if raw.get("resultType") not in (None, "complete"):
        message = "the server wants to be told more before it answers, which is not possible here"
        raise BindingError(message, code="unsupported")
    blocks: list[Mapping[str, Any]] = raw.get("content") or []
    if raw.get("isError") is True:
        raise BindingError(_error(blocks), body=raw.get("structuredContent"))
    structured = raw.get("structuredContent")
    if structured is not None and (has_schema or _is_text(blocks)):
        return Answer(structured)
    if structured is not None:
        return Answer([*map(_shown, blocks), {"type": "text", "text": _json(structured)}])
    if _is_text(blocks):
        return Answer("\n".join(str(each["text"]) for each in blocks))
    return Answer([_shown(each) for each in blocks])


def _tidy(block: Any) -> dict[str, Any]:
    if not isinstance(block, dict):
        return _marked("content of no known form")
    kind = block.get("type")
    if kind == "resource":
        return (
            block if _is_resource(block.get("resource")) else _marked("a resource without a body")
        )
    needed = _NEEDED.get(kind) if isinstance(kind, str) else None
    if needed is None:
        name = harmless(str(kind))[:40]
        return _marked(f"content of type {name}, which is not known here")
    if not all(isinstance(block.get(name), str) for name in needed):
        return _marked(f"content of type {kind} that lacks {' or '.join(needed)}")
    return block


def _is_resource(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("uri"), str)
        and any(isinstance(value.get(name), str) for name in ("text", "blob"))
    )


def _marked(what: str) -> dict[str, Any]:
    return {"type": "text", "text": f"[{what}]"}


def _shown(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block without what is about its display alone."""
    return {key: each for key, each in block.items() if key not in {"annotations", "_meta"}}


def _is_text(blocks: list[Mapping[str, Any]]) -> bool:
    return all(each["type"] == "text" for each in blocks)


def _error(blocks: list[Mapping[str, Any]]) -> str:
    """What the server says is wrong, for the model."""
    said = "\n".join(str(each["text"]) for each in blocks if each["type"] == "text").strip()
    if len(said) > _LONGEST_ERROR:
        said = f"{said[:_LONGEST_ERROR]}…"
    return harmless(said) or "the tool failed and did not say why"


def _json(value: Any) -> str:
    from pydantic_core import to_json  # noqa: PLC0415 - few results need it

    return to_json(value).decode()
