"""`result:` compiled: when an answer is a failure, and what of it is shown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from toolrt.catalog.redactions import Redactions, compile_redactions
from toolrt.core.faults import Fault, FaultError, Path
from toolrt.expressions.conditions import FAILED_WHEN_ROOTS, Condition, compile_condition
from toolrt.expressions.select import Select, compile_select
from toolrt.expressions.slots import TEXT
from toolrt.expressions.templates import Names, Template, compile_template
from toolrt.manifest.tool import ToolManifest

Keep = Literal["head", "tail", "both"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shaping:
    """What the attempt and shape stages do with an answer. `max_size` is in bytes.

    `keep` is the part that stays of what is longer. `is_final` ends the run of the model.
    """

    max_size: int
    failed_when: Condition | None = None
    error: Select | None = None
    select: Select | None = None
    text: Template | None = None
    retry_when: Condition | None = None
    empty: str | None = None
    keep: Keep = "head"
    redactions: Redactions | None = None
    to: Literal["both", "model", "user"] = "both"
    is_final: bool = False


def compile_shaping(
    manifest: ToolManifest,
    arguments: Mapping[str, Any],
    names: Names,
    known_keys: Mapping[str, frozenset[str]],
    faults: list[Fault],
) -> Shaping:
    """Compile the expressions of `result` and `retry.when`; faults go to `faults`."""
    options = manifest.result

    def condition(text: str | None, *path: str) -> Condition | None:
        def make() -> Condition:
            return compile_condition(text or "", FAILED_WHEN_ROOTS, arguments, known_keys)

        return compiled(make, text, path, faults)

    def select(text: str | None, *path: str) -> Select | None:
        return compiled(lambda: compile_select(text or ""), text, path, faults)

    within = Names(names.parameters, names.optional, names.roots | {"result"}, names.known_keys)
    return Shaping(
        max_size=options.max_size,
        failed_when=condition(options.failed_when, "result", "failed_when"),
        error=select(options.error, "result", "error"),
        select=select(options.select, "result", "select"),
        text=compiled(
            lambda: compile_template(options.text or "", TEXT, within),
            options.text,
            ("result", "text"),
            faults,
        ),
        retry_when=condition(manifest.retry.when, "retry", "when"),
        empty=options.empty,
        keep=options.keep,
        redactions=compile_redactions(options.redact, faults),
        to=options.to,
        is_final=options.final,
    )


def compiled(make: Callable[[], T], text: str | None, path: Path, faults: list[Fault]) -> T | None:
    """What `make` compiles from `text`; None without a text, or when it has faults."""
    if text is None:
        return None
    try:
        return make()
    except FaultError as error:
        faults.extend(error.under(*path))
        return None
