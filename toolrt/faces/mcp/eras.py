"""The two eras of the protocol, and the names that each has for things.

Up to 2025-11-25 a client begins with a handshake and keeps a session; since 2026-07-28 each request
says by itself what it needs to say.
"""

from typing import Any, Literal

from toolrt import __version__

Era = Literal["handshake", "modern"]

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LATEST_HANDSHAKE = HANDSHAKE_VERSIONS[-1]
ASSUMED = "2025-03-26"
"""What a client speaks that says nothing, by the specification."""
MODERN = "2026-07-28"
MODERN_VERSIONS = (MODERN,)

_META = "io.modelcontextprotocol/"
VERSION_KEY = f"{_META}protocolVersion"
CLIENT_KEY = f"{_META}clientInfo"
CAPABILITIES_KEY = f"{_META}clientCapabilities"
LOG_LEVEL_KEY = f"{_META}logLevel"
SERVER_KEY = f"{_META}serverInfo"
SUBSCRIPTION_KEY = f"{_META}subscriptionId"
TASKS = f"{_META}tasks"
RELATED_TASK_KEY = f"{_META}related-task"

SERVER: dict[str, Any] = {"name": "toolrt", "title": "toolrt", "version": __version__}

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Of log messages, the least important first."""


def is_modern(params: dict[str, Any]) -> bool:
    """Whether a request says of itself that it is of the era without sessions."""
    meta = params.get("_meta")
    return type(meta) is dict and VERSION_KEY in meta
