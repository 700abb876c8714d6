"""Several versions of one tool: which of them its plain name means.

`forecast@1` and `forecast@2` are two tools. Where no tool has the plain name, it means the latest,
unless the project wants versions to be named (`default_version: explicit`).
"""

from collections.abc import Iterable, Iterator

from toolrt.core.faults import Fault
from toolrt.core.versions import AT, VERSION, base_of, order, version_in
from toolrt.loading.loader import LoadedFiles, WrittenTool


def settle_versions(files: LoadedFiles) -> None:
    """Give the latest of several versions the plain name; report names and versions that differ."""
    for tool in files.tools:
        faults = list(_wrong(tool))
        if faults:
            files.report_layered(tool.path, tool.layered, faults)
    if not _has_any(files.tools):
        return
    _report_twins(files)
    if files.project.default_version == "explicit":
        return
    plain = {tool.name for tool in files.tools}
    latest: dict[str, str] = {}
    for tool in files.tools:
        base, version = base_of(tool.name), version_in(tool.name)
        if version is None or base in plain:
            continue
        known = latest.get(base)
        if known is None or order(version) > order(known):
            latest[base] = version
    meant = {f"{base}{AT}{version}": base for base, version in latest.items()}
    files.tools = [tool.named(meant.get(tool.name, tool.name)) for tool in files.tools]


def _report_twins(files: LoadedFiles) -> None:
    """A tool under its plain name that says it is a version which stands beside it."""
    whole = {tool.name: tool for tool in files.tools if AT in tool.name}
    for tool in files.tools:
        twin = whole.get(f"{tool.name}{AT}{tool.layered.text('version')}")
        if twin is not None:
            place = f"{twin.document.file}:{twin.document.span(twin.path, on_key=True).line}"
            message = f"`{twin.name}` is declared at {place} already"
            fault = Fault("duplicate-tool", message, ("version",), "write another version")
            files.report_layered(tool.path, tool.layered, [fault])


def _has_any(tools: Iterable[WrittenTool]) -> bool:
    return any(AT in tool.name for tool in tools)


def _wrong(tool: WrittenTool) -> Iterator[Fault]:
    named = version_in(str(tool.path[-1]))
    if named is None:
        return
    if not VERSION.fullmatch(named):
        message = f"`{named}` is no version: letters, digits, dots, `-` and `_`"
        yield Fault("bad-name", message, on_key=True)
    written = tool.layered.text("version")
    if written not in (None, named):
        message = f"the name says version {named}, and `version` says {written}"
        yield Fault("bad-name", message, ("version",), "write it once, in the name")
