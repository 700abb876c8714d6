"""toolrt: tools in YAML, one pipeline around every call.

    async with toolrt.open("path/to/project") as rt:
        result = await rt.call("weather.forecast", {"city": "Tokyo"})

Everything here is imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolrt.core.about import VERSION

if TYPE_CHECKING:
    from toolrt.core.calls import Caller
    from toolrt.core.context import Context
    from toolrt.core.errors import ProjectError, ToolError, ToolrtError
    from toolrt.core.marks import Toolkit, tool
    from toolrt.core.results import Failure, ToolResult
    from toolrt.opened import Runtime
    from toolrt.runtime import open, run  # noqa: A004 - `toolrt.open` is how it reads

__version__ = VERSION

__all__ = [
    "Caller",
    "Context",
    "Failure",
    "ProjectError",
    "Runtime",
    "ToolError",
    "ToolResult",
    "Toolkit",
    "ToolrtError",
    "__version__",
    "open",
    "run",
    "tool",
]

_HOMES = {
    "Caller": "toolrt.core.calls",
    "Context": "toolrt.core.context",
    "Failure": "toolrt.core.results",
    "ProjectError": "toolrt.core.errors",
    "Runtime": "toolrt.opened",
    "ToolError": "toolrt.core.errors",
    "ToolResult": "toolrt.core.results",
    "Toolkit": "toolrt.core.marks",
    "ToolrtError": "toolrt.core.errors",
    "open": "toolrt.runtime",
    "run": "toolrt.runtime",
    "tool": "toolrt.core.marks",
}


def __getattr__(name: str) -> Any:
    if name == "testing":
        return import_module("toolrt.testing")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'toolrt' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
