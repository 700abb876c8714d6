"""What one runtime tells of its calls beside the journal: counts, spans, and lines of the log."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.results import ToolResult
from toolrt.manifest.project import Telemetry as Options
from toolrt.observe.journal_entries import PerTool
from toolrt.observe.log import CallLog
from toolrt.observe.meters import By, Meter, Meters
from toolrt.observe.spans import Spans
from toolrt.policy.questions import Questions
from toolrt.stores.base import StoreError


@dataclass(frozen=True, slots=True)
class Telemetry:
    """`meters` are None where nobody wants metrics, `spans` where nobody traces."""

    meters: Meters | None = field(default_factory=Meters)
    spans: Spans | None = None
    log: CallLog = CallLog()

    @classmethod
    def of(cls, written: Options | None, questions: Questions, version: str) -> "Telemetry":
        """As toolrt.yaml wants it. Spans need a provider, which the program sets before."""
        options = written or Options()

        def key() -> bytes | None:
            try:
                return questions.key
            except StoreError:
                return None

        return cls(
            Meters() if options.metrics else None,
            Spans.of_provider(version) if options.traces else None,
            CallLog(options.logs.calls, options.logs.arguments, key),
        )

    def meter(self, entry: ToolEntry) -> Meter | None:
        """What counts the calls of a tool."""
        if self.meters is None:
            return None
        return self.meters.of(entry.name, is_kept=entry.manifest.cache is not None)
