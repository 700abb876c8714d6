"""What a tool does in one line, as its manifest writes it: a request, a program, a callable.

For `show`: references stay as they are written, and what looks like a credential is masked.
"""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from toolrt.core.redaction import without_credentials
from toolrt.faces.output import one_line
from toolrt.manifest.target import Auth, Target

if TYPE_CHECKING:
    from toolrt.catalog.snapshot import ToolEntry

_LONGEST = 200


def doing(tool: "ToolEntry", urls: Mapping[str, str]) -> str:
    """`GET https://api.example.com/books/{{ id }}`; empty where there is nothing to say.

    `urls` has the url of each target.
    """
    spec = _spec(tool)
    if spec is None:
        return ""
    written = {
        "command": _command, "http": _request, "python": _callable, "shell": _script,
        "steps": _steps, "mcp": _asked,
    }  # fmt: skip
    if tool.kind not in written:
        return ""
    said = written[tool.kind](spec, urls.get(tool.target or "", ""))
    return one_line(without_credentials(said))


def further(tool: "ToolEntry", target: Target | None) -> Iterator[tuple[str, str]]:
    """What is sent along, refused and shown: a word and a line for each; of secrets the way only.

    References and templates stay as they are written.
    """
    spec, result = _spec(tool), tool.manifest.result
    for name in ("query", "json_body", "form", "body"):
        value = getattr(spec, name, None)
        if tool.kind == "http" and value:
            yield name.removesuffix("_body"), _short(value)
    if target is not None and target.auth is not None:
        yield "auth", next(way for way in Auth.choices if getattr(target.auth, way) is not None)
    for each in tool.manifest.reject:
        yield "reject", _short(f"{each.when}: {each.reason}")
    for name in ("failed_when", "error", "select", "text"):
        if value := getattr(result, name):
            yield name, _short(value)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    said = one_line(without_credentials(text))
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"


def _spec(tool: "ToolEntry") -> Any:
    from toolrt.bindings.base import KINDS, kind  # noqa: PLC0415 - only `show` asks
    from toolrt.loading.validation import validated  # noqa: PLC0415 - as above

    if tool.kind not in KINDS:
        return None
    layered = tool.layered
    return validated(
        kind(tool.kind).spec,
        layered.merged.get(tool.kind),
        lambda path: layered.source_text((tool.kind, *path)),
    )[0]


def _request(spec: Any, base: str) -> str:
    url = spec.url if "://" in spec.url else base.rstrip("/") + spec.url
    return f"{spec.method or 'GET'} {url}"


def _command(spec: Any, _base: str) -> str:
    return " ".join(_words(spec.argv))


def _script(spec: Any, _base: str) -> str:
    first, *more = spec.script.strip().splitlines() or [""]
    return f"{first} …" if more else first


def _asked(spec: Any, _base: str) -> str:
    return f"{spec.tool} of server {spec.server}"


def _callable(spec: Any, _base: str) -> str:
    called = spec.call if isinstance(spec.call, str | None) else spec.call.__qualname__
    return ".".join(filter(None, (spec.object, called)))


def _steps(spec: Any, _base: str) -> str:
    return " → ".join(f"{step.id}: {step.tool}" for step in spec.steps)


def _words(elements: Iterable[Any]) -> Iterator[str]:
    """The arguments; options of a mapping with what decides about them."""
    for element in elements:
        if not isinstance(element, Mapping):
            yield _word(element)
            continue
        for option, value in element.items():
            if value is True:
                yield option
            elif value not in (None, False):
                yield f"{option}{'' if option.endswith('=') else ' '}{_word(value)}"


def _word(value: Any) -> str:
    text = str(value)
    return text if "{{" in text else shlex.quote(text)
