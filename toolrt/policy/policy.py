"""The policy of one generation: every rule compiled, and for each tool what decides its calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from toolrt.core.decisions import Bounds, Caps, Verdict
from toolrt.policy.clauses import Clause
from toolrt.policy.engine import ToolPolicy


@dataclass(frozen=True, eq=False)
class Policy:
    """All rules by id, and the deciders by tool. `hash` changes with what the files say.

    `is_written` is false where no file has rules or a default: the built-in posture holds.
    `default` is what holds where no rule decides; `hits` are the tools that each rule can hit.
    `bounds` limit sessions whatever they call, and are None where nobody counts.
    """

    tools: Mapping[str, ToolPolicy] = field(default_factory=dict)
    clauses: Mapping[str, Clause] = field(default_factory=dict)
    hash: str = ""
    is_written: bool = False
    caps: Caps = field(default_factory=Caps)
    bounds: Bounds | None = None
    default: Verdict = "allow"
    hits: Mapping[str, Sequence[str]] = field(default_factory=dict)
