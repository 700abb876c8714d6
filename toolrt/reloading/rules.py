"""What compiles the rules of a project again and again: policy is told of the tools, and what it
knows of one that has not changed is the same object every time.
"""

from collections.abc import Collection, Mapping

from toolrt.catalog.snapshot import ToolEntry
from toolrt.loading.loader import LoadedFiles
from toolrt.pipeline.facts import facts_of
from toolrt.policy.compiler import compile_policy
from toolrt.policy.facts import ToolFacts
from toolrt.policy.history import History
from toolrt.policy.kept import KeptClauses
from toolrt.policy.policy import Policy


class RulesCompiler:
    """Compiles rules over compiled tools; the history of calls outlives generations, and so do
    rules that need not be compiled again.
    """

    def __init__(self) -> None:
        self._history = History()
        self._kept = KeptClauses()
        self._known: dict[str, tuple[ToolEntry, ToolFacts]] = {}

    def policy(
        self, files: LoadedFiles, entries: Mapping[str, ToolEntry], broken: Collection[str]
    ) -> Policy:
        """The policy over these tools; `broken` are the names of those that have errors."""
        self._known = {name: self._seen(entry) for name, entry in entries.items()}
        facts = {name: seen for name, (_, seen) in self._known.items()}
        facts |= {name: ToolFacts(name, arguments=None) for name in broken}
        return compile_policy(files, facts, self._history, self._kept)

    def _seen(self, entry: ToolEntry) -> tuple[ToolEntry, ToolFacts]:
        known = self._known.get(entry.name)
        return known if known is not None and known[0] is entry else (entry, facts_of(entry))
