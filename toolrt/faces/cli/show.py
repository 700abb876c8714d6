"""`toolrt show`: one tool in full, and where each of its values comes from."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from toolrt.core.redaction import redacted_value
from toolrt.core.results import SCHEMA
from toolrt.faces.cli.bounds import bounds, recourse
from toolrt.faces.cli.caller import Guise, as_option, caller_of, seen_by
from toolrt.faces.cli.circuits import Circuit, open_tools
from toolrt.faces.cli.dialect import dialect_option, export_of, show_export
from toolrt.faces.cli.durations import seconds
from toolrt.faces.cli.list import described
from toolrt.faces.cli.names import compiled_files, complete_tool, require_tool
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.cli.signature import Parameter, fields, signature
from toolrt.faces.cli.table import aligned
from toolrt.faces.exits import Exit
from toolrt.faces.output import Screen, one_line, visible
from toolrt.faces.yaml_text import Path, to_yaml

if TYPE_CHECKING:
    from pydantic import BaseModel

    from toolrt.catalog.snapshot import ToolEntry
    from toolrt.loading.loader import LoadedFiles

_RECOURSE = ("cache", "fallback", "verify", "poll", "idempotency_key", "freshness")
EXAMPLES = (
    ("toolrt show files.size", "its parameters and limits"),
    ("toolrt show files.size --resolved", "every value with its origin"),
    ("toolrt show files.size -o json", "its schema too"),
    ("toolrt show files.size --dialect openai", "as a request to a vendor has it"),
)


@click.command("show", cls=Verb, examples=EXAMPLES)
@click.argument("tool", shell_complete=complete_tool)
@click.option("--resolved", is_flag=True, help="The merged manifest, each value with its origin.")
@dialect_option("In the format of this vendor's requests.")
@as_option("Look")
@click.pass_obj
def verb(
    settings: Settings, *, tool: str, resolved: bool, dialect: str | None, as_: Guise | None
) -> Exit:
    """Show TOOL: what it is for, what it takes, what bounds it, where it is written."""
    whole, files = compiled_files(settings)
    caller = caller_of(whole, as_, settings)
    snapshot, hidden = seen_by(whole, caller)
    entry = require_tool(snapshot, tool, settings)
    screen = settings.screen
    if dialect is not None:
        show_export(export_of([entry], dialect, snapshot), dialect, settings)
        return Exit.OK
    if resolved:
        document = {"schema": SCHEMA, "name": entry.name, **_resolved_document(entry)}
        screen.show(document, lambda: _resolved_text(entry))
        return Exit.OK
    is_hidden = entry.name in hidden
    circuit = open_tools(snapshot, files, settings, caller.tenant).get(entry.name)
    told = described(entry, is_hidden=is_hidden, circuit=circuit)
    screen.show(
        {"schema": SCHEMA, **told, **_limits(entry)},
        lambda: _text(entry, files, screen, circuit, is_hidden=is_hidden),
    )
    return Exit.OK


def _text(
    tool: "ToolEntry",
    files: "LoadedFiles",
    screen: Screen,
    circuit: Circuit | None,
    *,
    is_hidden: bool,
) -> str:
    call = one_line(signature(tool.name, tool.input_schema))
    name, _, arguments = call.partition("(")
    parts = [f"{screen.paint(name, bold=True)}({arguments}", ""]
    parts += [f"  {line}".rstrip() for line in visible(tool.description.strip()).split("\n")]
    parts += ["", *_parameter_lines(tool, screen)]
    not_now = tool.unavailable or (circuit.reason if circuit else None) or ""
    facts = [
        *_facts(tool, files, not_now),
        ["hidden", "the rules hide it from you" * is_hidden],
    ]
    parts += aligned([fact for fact in facts if fact[1]])
    return "\n".join(parts)


def _parameter_lines(tool: "ToolEntry", screen: Screen) -> Iterator[str]:
    rows = [_parameter_row(each) for each in fields(tool.parameters.visible_schema())]
    if not rows:
        return
    yield screen.paint("Parameters", bold=True)
    yield from aligned(rows, indent="  ")
    yield ""


def _parameter_row(each: Parameter) -> list[str]:
    need = "required" if each.is_required else f"default {each.default}" if each.default else ""
    cells = (each.name, each.type, need or "optional", each.limits, each.description)
    return [one_line(cell) for cell in cells]


def _facts(tool: "ToolEntry", files: "LoadedFiles", not_now: str) -> Iterator[list[str]]:
    from toolrt.faces.cli.findings import from_here  # noqa: PLC0415 - `--help` loads no runtime

    idempotent = ", may be repeated" if tool.is_idempotent else ""
    timeout, retry = tool.manifest.timeout, tool.manifest.retry
    for name, source in tool.parameters.bound.items():
        yield ["bound", f"{name}, filled from {source}"]
    yield ["kind", f"{tool.kind}  {_doing(tool, files)}".rstrip()]
    yield from _further(tool, files)
    yield ["effect", f"{tool.effect}{idempotent}"]
    yield ["timeout", _timeout_text(timeout.total, timeout.attempt, timeout.connect)]
    yield ["retry", _retry_text(retry.attempts, retry.initial, retry.max)]
    yield from bounds(tool.manifest)
    yield from recourse(tool.manifest)
    yield ["tags", one_line(", ".join(tool.tags))]
    yield ["version", one_line(tool.version or "")]
    yield ["deprecated", one_line(tool.deprecated or "")]
    yield ["unavailable", one_line(not_now)]
    yield ["source", one_line(tool.source)]
    yield ["defined", f"{from_here(files.root, tool.file)}:{tool.line}"]


def _doing(tool: "ToolEntry", files: "LoadedFiles") -> str:
    from toolrt.faces.cli.doing import doing  # noqa: PLC0415 - only text has it

    return doing(tool, {name: each.target.url for name, each in files.targets.items()})


def _further(tool: "ToolEntry", files: "LoadedFiles") -> Iterator[list[str]]:
    """What is sent along, what is refused, and what of an answer is shown."""
    from toolrt.faces.cli.doing import further  # noqa: PLC0415 - only text has it

    target = files.targets.get(tool.target or "")
    for name, said in further(tool, target.target if target else None):
        yield [name, said]


def _timeout_text(total: float, attempt: float, connect: float) -> str:
    parts = (f"{seconds(total)} in all", f"{seconds(attempt)} an attempt")
    return ", ".join([*parts, f"{seconds(connect)} to connect"])


def _retry_text(attempts: int, initial: float, longest: float) -> str:
    if attempts == 1:
        return "none"
    waits = f"waits from {seconds(initial)} up to {seconds(longest)}"
    return f"at most {attempts} attempts where a repeat is safe, {waits}"


def _size(count: int) -> str:
    return f"{count // 1000}KB" if count % 1000 == 0 else f"{count}B"


def _limits(tool: "ToolEntry") -> dict[str, Any]:
    manifest = tool.manifest
    return {
        "instructions": tool.instructions,
        "timeout_s": manifest.timeout.model_dump(),
        "retry": manifest.retry.model_dump(),
        "breaker": manifest.breaker.model_dump() if manifest.breaker else None,
        "rate": manifest.rate.model_dump() if manifest.rate else None,
        "concurrency": manifest.concurrency,
        **{key: _redacted_model(getattr(manifest, key)) for key in _RECOURSE},
        "bound": dict(tool.parameters.bound),
    }


def _redacted_model(written: "BaseModel | None") -> Any:
    return None if written is None else redacted_value(written.model_dump(exclude_unset=True))


def _built_in(tool: "ToolEntry") -> dict[str, Any]:
    """What holds where nothing was written."""
    timeout, retry = tool.manifest.timeout, tool.manifest.retry
    return {
        "effect": tool.effect,
        "idempotent": tool.is_idempotent,
        "timeout": {
            "connect": seconds(timeout.connect),
            "attempt": seconds(timeout.attempt),
            "total": seconds(timeout.total),
        },
        "retry": {
            "attempts": retry.attempts,
            "initial": seconds(retry.initial),
            "max": seconds(retry.max),
        },
        "coerce": tool.manifest.coerce,
        "result": {"max_size": _size(tool.manifest.result.max_size)},
    }


def resolved_of(tool: "ToolEntry") -> dict[str, Any]:
    """The merged manifest of a tool, with what holds where nothing is written."""
    said = {"description": tool.description, "input_schema": tool.input_schema}
    unwritten = {key: said[key] for key in _of_signature(tool)}
    made = _laid_over({**unwritten, **_built_in(tool)}, tool.layered.merged)
    shown: dict[str, Any] = redacted_value(made)
    return shown


def _of_signature(tool: "ToolEntry") -> list[str]:
    """The keys that a Python callable fills in, as the manifest writes nothing."""
    if tool.kind != "python":
        return []
    manifest = tool.manifest
    has_schema = manifest.parameters is not None or manifest.input_schema is not None
    found = {"description": not manifest.description, "input_schema": not has_schema}
    return [key for key, is_unwritten in found.items() if is_unwritten]


def _laid_over(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    made = {**high}
    for key, value in low.items():
        above = high.get(key)
        if isinstance(value, dict):
            made[key] = {**value, **above} if isinstance(above, dict) else value
        elif above is None:
            made[key] = value
    return made


def origin_of(tool: "ToolEntry", path: Path) -> str:
    """Where the value at `path` comes from: the longest written path above it."""
    for end in range(len(path), 0, -1):
        found = tool.origins.get(".".join(map(str, path[:end])))
        if found:
            return found
    return "signature" if path[0] in _of_signature(tool) else "built-in"


def _resolved_text(tool: "ToolEntry") -> str:
    made = to_yaml({tool.name: resolved_of(tool)}, lambda path: origin_of(tool, path[1:]))
    return visible("\n".join([made.rstrip("\n"), *map(_conditional_text, _conditional(tool))]))


def _conditional_text(setting: Mapping[str, Any]) -> str:
    options = ", ".join(setting["options"])
    return f"# {setting['at']} sets {options} for some callers: {one_line(setting['when'])}"


def _resolved_document(tool: "ToolEntry") -> dict[str, Any]:
    filled = dict.fromkeys(_of_signature(tool), "signature")
    return {
        "resolved": resolved_of(tool),
        "origins": {**tool.origins, **filled},
        "conditional": _conditional(tool),
    }


def _conditional(tool: "ToolEntry") -> list[dict[str, Any]]:
    """Settings that hold for some callers only: where they stand, and for whom they are."""
    return [
        {
            "at": f"{layer.document.file}:{layer.document.span(layer.prefix).line}",
            "when": condition.text,
            "options": sorted(layer.data),
        }
        for layer, condition in (tool.variants.written if tool.variants else ())
    ]
