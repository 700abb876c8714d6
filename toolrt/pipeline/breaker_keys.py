"""Whose breaker a tool asks: that of its target, or else its own, and apart for tenants (B6)."""

import json

from toolrt.catalog.snapshot import ToolEntry
from toolrt.manifest.limits import Breaker as Options
from toolrt.stores.breakers import Key

_OF = "@"
"""Stands between the settings and the tenant, in breakers that are of one tenant each."""


def key_of(entry: ToolEntry, options: Options, tenant: str | None = None) -> Key:
    """The breaker of a tool, for callers of that tenant. Other settings are another breaker."""
    written = (options.failures, options.recovery, options.ratio, options.window)
    text = "/".join(f"{each:g}" for each in written)
    if options.by == "tenant":
        text += _OF + ("" if tenant is None else json.dumps(tenant))
    if entry.target is not None:
        return Key("target", entry.target, text)
    return Key("tool", entry.name, text)


def without_tenant(key: Key) -> Key:
    """The breaker with the same settings of callers that have no tenant."""
    settings, of, _ = key.options.partition(_OF)
    return Key(key.kind, key.name, settings + of)


def tenant_of(key: Key) -> str | None:
    """Whose breaker it is; None where it is nobody's in particular."""
    _, _, tenant = key.options.partition(_OF)
    found: str | None = json.loads(tenant) if tenant else None
    return found
