"""Which names a template may use in its place, and what to say about any other."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from toolrt.core.faults import Fault
from toolrt.core.names import did_you_mean, nearest
from toolrt.expressions.scope import ROOTS

_FEW = 8
_REFERENCES = frozenset({"env", "file", "secret", "tenant"})
"""Words of references, `${secret:name}`, that some write like names of a template."""
KNOWN_KEYS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "caller": frozenset({"principal", "roles", "tenant", "session", "scopes", "claims"}),
        "call": frozenset({"id", "time"}),
    }
)
"""The keys of roots whose shape is fixed; `vars` joins them where the project is known."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one place.

    `optional` are the parameters that may be absent: not required and without a default. `roots`
    are the roots that this place has. `known_keys` lists the keys of roots whose shape is fixed;
    `scalars` are the parameters that have none.
    """

    parameters: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    roots: frozenset[str] = frozenset({"caller", "call", "vars"})
    known_keys: Mapping[str, frozenset[str]] = field(default_factory=lambda: KNOWN_KEYS)
    scalars: frozenset[str] = frozenset()

    def fault(self, name: str, key: str | None, offset: int) -> Fault | None:
        """What is wrong with reading `name` (or `name.key`) at `offset`; None when nothing is."""
        if name not in self.roots and name not in self.parameters:
            return self._unknown(name, key, offset)
        if name in self.scalars and key is not None:
            message = f"`{name}` is no object, so it has no `{key}`"
            hint = f"write `{name}`"
            return Fault("unknown-name", message, hint=hint, offset=offset + len(name) + 1)
        known = self.known_keys.get(name)
        if key is None or known is None or key in known:
            return None
        return Fault(
            "unknown-name",
            f"`{name}` has no `{key}`",
            hint=suggestion(key, known, f"{name}."),
            offset=offset + len(name) + 1,
        )

    def _unknown(self, name: str, key: str | None, offset: int) -> Fault:
        if name == "args" and key in self.parameters:
            message = "in a template a parameter goes by its own name"
            return Fault("unknown-name", message, hint=f"write `{key}`", offset=offset)
        if name in ROOTS:
            return Fault("unknown-name", f"`{name}` has no value in this place", offset=offset)
        what = "is no parameter of this tool" if self.parameters else "is not known in this place"
        hint = suggestion(name, self.parameters | self.roots)
        if name in _REFERENCES and key is not None:
            hint = f"write `${{{name}:{key}}}`"
        return Fault("unknown-name", f"`{name}` {what}", hint=hint, offset=offset)


def suggestion(name: str, known: frozenset[str], prefix: str = "") -> str | None:
    """The nearest right name, or all of them when they are few."""
    close = nearest(name, sorted(known))
    if close is not None:
        return did_you_mean(f"{prefix}{name}", [f"{prefix}{close}"])
    if not known or len(known) > _FEW:
        return None
    return "known: " + ", ".join(f"`{prefix}{each}`" for each in sorted(known))
