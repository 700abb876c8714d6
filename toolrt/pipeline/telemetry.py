"""What one runtime tells of its calls beside the journal: counts, spans, and lines of the log."""

from dataclasses import dataclass, field

from toolrt.catalog.snapshot import ToolEntry
from toolrt.manifest.project import Telemetry as Options
from toolrt.observe.log import CallLog
from toolrt.observe.meters import Meter, Meters, NoMeters
from toolrt.observe.spans import Spans
from toolrt.policy.questions import Questions
from toolrt.stores.base import StoreError


@dataclass(frozen=True, slots=True)
class Telemetry:
    """`spans` are None where nobody traces; `is_metered`: somebody wants metrics."""

    meters: Meters = field(default_factory=Meters)
    is_metered: bool = True
    spans: Spans | None = None
    log: CallLog = field(default_factory=CallLog)

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
            Meters() if options.metrics else NoMeters(),
            options.metrics,
            Spans.of_provider(version) if options.traces else None,
            CallLog(options.logs.calls, options.logs.arguments, key),
        )

    def meter(self, entry: ToolEntry) -> Meter:
        """What counts the calls of a tool."""
        return self.meters.of(entry.name, is_kept=entry.manifest.cache is not None)
