"""What a document came to, as a file of tools for people to go on with."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolrt.catalog.openapi.report import Mapped, MappedTool

_IMPLIED = {"GET": "read", "HEAD": "read"}


def manifest_of(mapped: Mapped, namespace: str, tools: Sequence[MappedTool]) -> dict[str, Any]:
    """A tools file with these of the document's tools, and the targets that they name."""
    used = [each.written["http"].get("target") for each in tools]
    common = max(dict.fromkeys(used), key=used.count, default=None)
    made: dict[str, Any] = {"namespace": namespace}
    targets = {name: dict(each) for name, each in mapped.targets.items() if name in used}
    if targets:
        made["targets"] = targets
    if common is not None:
        made["defaults"] = {"http": {"target": common}}
    return {**made, "tools": {each.name: _tool(each.written, common) for each in tools}}


def secrets_of(manifest: Mapping[str, Any]) -> list[str]:
    """The references in the targets of a file, each once."""
    found: dict[str, None] = {}
    for target in manifest.get("targets", {}).values():
        for text in _texts({key: each for key, each in target.items() if key != "url"}):
            if text.startswith("${secret:"):
                found[text.removeprefix("${secret:").removesuffix("}")] = None
    return list(found)


def _tool(written: Mapping[str, Any], common: str | None) -> dict[str, Any]:
    http = dict(written["http"])
    made = {key: each for key, each in written.items() if key not in {"http", "effect"}}
    if written["effect"] != _IMPLIED.get(http["method"], "write"):
        made["effect"] = written["effect"]
    if http.get("target") == common:
        http.pop("target", None)
    if http["method"] == "GET":
        del http["method"]
    made["http"] = http["url"] if list(http) == ["url"] else http
    return made


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return []
