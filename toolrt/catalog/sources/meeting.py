"""Tools of servers that would have the name of another tool: left out, with a warning.

What a server lists is no error of the project, nor may it take the place of anything: where the dot
becomes `_`, as for models, both names have to be told apart.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from toolrt.core.faults import Fault
from toolrt.core.names import without_dots
from toolrt.loading.loader import LoadedFiles, WrittenTool
from toolrt.schemas.phrases import visible

_SERVERS = "mcp"


def leave_out_meeting(files: LoadedFiles) -> None:
    """Take the tools of servers out whose names meet those of others."""
    if not any(_is_of_server(each) for each in files.tools):
        return
    by_wire: defaultdict[str, list[WrittenTool]] = defaultdict(list)
    for written in files.tools:
        by_wire[without_dots(written.name)].append(written)
    out = {id(each) for several in by_wire.values() for each in _meeting(files, several)}
    files.tools[:] = [each for each in files.tools if id(each) not in out]


def _meeting(files: LoadedFiles, several: Sequence[WrittenTool]) -> Iterator[WrittenTool]:
    """Those of servers among tools of one name; each is told with another one of that name."""
    if len(several) == 1:
        return
    for written in several:
        source = written.source
        if source is None or not _is_of_server(written):
            continue
        other = next(each for each in several if each is not written)
        line = other.document.span(other.path, on_key=True).line
        name = visible(written.name)
        message = f"`{name}` would be `{other.name}` ({other.document.file}:{line}) for a model"
        fault = Fault("names-meet", f"{message}: it is left out", (_SERVERS,), None, "warning")
        files.report(source.document, source.path, fault)
        yield written


def _is_of_server(written: WrittenTool) -> bool:
    return written.source is not None and written.source.origin == _SERVERS
