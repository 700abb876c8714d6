"""What an approval is bound to: one hash for the call as asked, one for what will run (A4).

Both are SHA-256 over canonical JSON of the tool's definition, the arguments, the caller and the
tenant. Sensitive arguments enter as HMAC with the store's key, so that no hash gives them away.
"""

import hmac
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from toolrt.core.calls import Caller
from toolrt.schemas.canonical import canonical_json


def call_hash(
    tool_hash: str,
    arguments: Mapping[str, Any],
    caller: Caller,
    sensitive: frozenset[str],
    key: bytes,
) -> str:
    """The hash of one call of a tool by somebody. Raises NotJsonError for arguments that are not
    JSON.
    """
    named = {name: _entered(name, value, sensitive, key) for name, value in arguments.items()}
    whole = {
        "tool": tool_hash,
        "arguments": named,
        "caller": caller.principal,
        "tenant": caller.tenant,
    }
    return sha256(canonical_json(whole)).hexdigest()


def texts(arguments: Mapping[str, Any], sensitive: frozenset[str], key: bytes) -> dict[str, str]:
    """Each argument as the text that grants compare: canonical JSON, HMAC where it is sensitive."""
    return {
        name: canonical_json(
            value if name not in sensitive else _entered(name, value, sensitive, key)
        ).decode()
        for name, value in arguments.items()
    }


def _entered(name: str, value: Any, sensitive: frozenset[str], key: bytes) -> Any:
    if name not in sensitive:
        return {"is": value}
    return {"hmac": hmac.digest(key, canonical_json(value), "sha256").hex()}
