"""`settings` of policies.d: what operators lay over the tools' own options.

Entries with `when` are for some callers only. They are kept apart, and the catalogue makes a
variant of the tool of each combination of them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from toolrt.core.faults import Fault, FaultError, child
from toolrt.core.faults import Path as FaultPath
from toolrt.core.globs import ByName, no_such_tool
from toolrt.expressions.condition_domains import CALENDAR, foregone
from toolrt.expressions.conditions import (
    CONDITION_KEYS,
    SETTING_ROOTS,
    Condition,
    compile_condition,
)
from toolrt.loading.layers import SETTINGS, Conditional, Layer
from toolrt.loading.loader import LoadedFiles, WrittenTool
from toolrt.loading.problems import mended
from toolrt.loading.reader import Document
from toolrt.loading.validation import validated
from toolrt.manifest.longform import long_tool
from toolrt.manifest.policy import Setting

MOST_CONDITIONAL = 4
"""Settings with `when` that one tool may have: each doubles the number of its variants."""
_NOT_OF_TOOLS = frozenset({"tools", "when", "limits"})


def lay_settings(files: LoadedFiles) -> None:
    """Lay every entry over the tools that it names; later ones lie higher.

    One with faults, which the loader has reported, lies over none; what else is wrong with it is
    told all the same.
    """
    for written in files.policies:
        entries = written.document.data.get("settings")
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            path = ("settings", number)
            setting, faults = _setting(written.document, path, entry)
            if setting is None:
                _look_at(files, written.document, path, mended(Setting, entry, faults))
                continue
            _lay(files, setting, _layer(written.document, path, entry))


def _setting(document: Document, path: FaultPath, entry: Any) -> tuple[Setting | None, list[Fault]]:
    """The entry, with plain scalars as texts where a text is wanted; None when it has faults."""
    return validated(Setting, entry, lambda inner: document.source_text((*path, *inner)))


def _look_at(files: LoadedFiles, document: Document, path: FaultPath, kept: Any) -> None:
    """Report what is wrong with names and conditions in the right keys of an entry with faults."""
    layer = Layer(SETTINGS, document, path, {})
    globs, when = child(kept, "tools"), child(kept, "when")
    if isinstance(globs, list):
        _hit(files, layer, [str(each) for each in globs])
    if isinstance(when, str):
        _condition(files, when, layer)


def _layer(document: Document, path: FaultPath, entry: Mapping[str, Any]) -> Layer:
    options = {key: value for key, value in entry.items() if key not in _NOT_OF_TOOLS}
    limits = entry.get("limits")
    return Layer(SETTINGS, document, path, long_tool(options, {}), limits)


def _lay(files: LoadedFiles, setting: Setting, layer: Layer) -> None:
    condition = _condition(files, setting.when, layer)
    is_sound = condition is not None or setting.when is None
    hit = _hit(files, layer, setting.tools) if is_sound else []
    files.report(layer.document, layer.prefix, *_less_done(setting, layer, hit))
    for tool in hit:
        if condition is None:
            tool.layered.lay(layer)
        else:
            _lay_apart(files, tool, layer, condition)


def _hit(files: LoadedFiles, layer: Layer, globs: list[str]) -> list[WrittenTool]:
    """The tools that the entry names, each once; patterns that fit none are reported."""
    names = [tool.name for tool in files.tools]
    named = ByName((tool.name, tool.version) for tool in files.tools)
    found: dict[int, WrittenTool] = {}
    for number, glob in enumerate(globs):
        if "*" in glob and child(layer.data.get("hitl"), "mode") == "none":
            files.report(layer.document, layer.prefix, _HITL_BY_PATTERN)
            continue
        matched = named.matched(glob)
        hit = [tool for tool in files.tools if tool.name in matched]
        if not hit and files.knows.tools:
            fault = no_such_tool(glob, names, ("tools", number))
            files.report(layer.document, layer.prefix, fault)
        found |= {id(tool): tool for tool in hit}
    return list(found.values())


def _less_done(setting: Setting, layer: Layer, hit: list[WrittenTool]) -> Iterator[Fault]:
    """The warning that a pattern takes from people what the tools have them do or fill in."""
    mode = child(layer.data.get("hitl"), "mode")
    theirs = {"confirm": ("external", "input"), "input": ("external",)}.get(mode, ())
    for tool in hit:
        own = child(tool.layered.merged.get("hitl"), "mode")
        if own in theirs and tool.name not in setting.tools:
            message = f"`{mode}` by a pattern takes the place of `{own}`, which `{tool.name}` says"
            hint = f"keep `{tool.name}` out of it; or name it exactly, if that is meant"
            yield Fault("hitl-by-pattern", message, ("hitl",), hint, "warning")
            return


def _condition(files: LoadedFiles, text: str | None, layer: Layer) -> Condition | None:
    """The condition of the entry; None where it has none, or one with faults."""
    if text is None:
        return None
    known = {"vars": frozenset(files.project.vars)} if files.knows.vars else {}
    try:
        made = compile_condition(text, SETTING_ROOTS, None, {**CONDITION_KEYS, **known})
    except FaultError as error:
        files.report(layer.document, layer.prefix, *error.under("when"))
        return None
    found = [*foregone(text, CALENDAR), *([_NEVER] if made.constant is False else ())]
    files.report(layer.document, layer.prefix, *(fault.under("when") for fault in found))
    return made


def _lay_apart(files: LoadedFiles, tool: WrittenTool, layer: Layer, condition: Condition) -> None:
    if len(tool.conditional) == MOST_CONDITIONAL:
        message = f"`{tool.name}` has {MOST_CONDITIONAL} settings with `when` already"
        hint = "say the same in fewer of them"
        fault = Fault("too-many-settings", message, ("when",), hint, on_key=True)
        files.report(layer.document, layer.prefix, fault)
        return
    tool.conditional.append(Conditional(layer, len(tool.layered.layers), condition))


_NEVER = Fault(
    "constant-condition",
    "this is never true: the entry holds for nobody",
    hint="take it away",
    severity="warning",
    offset=0,
)
_HITL_BY_PATTERN = Fault(
    "hitl-by-pattern",
    "`hitl: none` is for tools that are named exactly",
    ("hitl",),
    "name each tool that may run unasked",
)
