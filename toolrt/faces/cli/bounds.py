"""What bounds the calls of a tool beside time, in words, for `toolrt show`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from toolrt.faces.cli.durations import seconds

if TYPE_CHECKING:
    from toolrt.manifest.tool import ToolManifest


def bounds(manifest: "ToolManifest") -> Iterator[list[str]]:
    """A name and a text for each bound that is written."""
    breaker, rate, concurrency = manifest.breaker, manifest.rate, manifest.concurrency
    if breaker is not None:
        row = f"{breaker.failures} failure{'s' * (breaker.failures > 1)} in a row"
        share = f"{breaker.ratio:.0%} of 10 or more calls in {seconds(breaker.window)}"
        hides = ", hidden meanwhile" if breaker.hide else ""
        wait = f"tried again after {seconds(breaker.recovery)}"
        apart = ", for each tenant" if breaker.by == "tenant" else ""
        yield ["breaker", f"opens after {row}, or {share}{apart}; {wait}{hides}"]
    if rate is not None:
        by = "" if rate.by == "tool" else f", for each {rate.by}"
        yield ["rate", f"at most {rate.limit} in {seconds(rate.per)}{by}"]
    if concurrency is not None:
        limit = 1 if concurrency == "serial" else concurrency
        yield ["concurrency", f"at most {limit} at once"]
