"""Every short form of a tool made long, in this one place."""

from collections.abc import Callable, Mapping
from typing import Any

from toolrt.manifest.limits import long_cache, long_rate, long_retry, long_timeout
from toolrt.manifest.result import long_fallback, long_hitl, long_idempotency_key
from toolrt.manifest.tool import KIND_NAMES
from toolrt.manifest.written import long_form


def long_http(value: Any) -> Any:
    return long_form(value, "url")


def long_command(value: Any) -> Any:
    return long_form(value, "argv")


def long_shell(value: Any) -> Any:
    return long_form(value, "script")


def long_steps(value: Any) -> Any:
    return long_form(value, "steps")


def long_python(value: Any) -> Any:
    return long_form(value, "call")


LONG: Mapping[str, Callable[[Any], Any]] = {
    "cache": long_cache,
    "command": long_command,
    "fallback": long_fallback,
    "hitl": long_hitl,
    "http": long_http,
    "idempotency_key": long_idempotency_key,
    "python": long_python,
    "rate": long_rate,
    "retry": long_retry,
    "shell": long_shell,
    "steps": long_steps,
    "timeout": long_timeout,
}


def long_tool(written: Mapping[str, Any], tool: Mapping[str, Any]) -> dict[str, Any]:
    """`written` with its short forms made long; kinds other than the tool's own are left out.

    `written` is a layer of `tool`, or the tool itself: in a layer of defaults, the options of a
    kind reach the tools of that kind only.
    """
    made: dict[str, Any] = {}
    for key, value in written.items():
        if key in KIND_NAMES and key not in tool:
            continue
        made[key] = LONG[key](value) if key in LONG and value is not None else value
    return made
