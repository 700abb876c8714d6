"""What bounds the calls of a tool beside time, and what it does about failure and repetition, in
words, for `toolrt show`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from toolrt.core.redaction import redacted
from toolrt.faces.cli.durations import seconds
from toolrt.faces.output import one_line

if TYPE_CHECKING:
    from toolrt.manifest.result import Fallback
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


def recourse(manifest: "ToolManifest") -> Iterator[list[str]]:
    """A name and a text for each of `cache`, `fallback`, `verify`, `poll`, `freshness` and
    `idempotency_key` that is written.
    """
    cache, fresh, key = manifest.cache, manifest.freshness, manifest.idempotency_key
    if cache is not None:
        whose = "all callers" if cache.scope == "global" else f"each {cache.scope}"
        yield ["cache", f"answers are kept for {seconds(cache.ttl)}, for {whose}"]
    if manifest.fallback is not None:
        yield ["fallback", f"where the target fails: {_stands_in(manifest.fallback)}"]
    if manifest.verify is not None:
        yield ["verify", f"{manifest.verify.tool} is asked whether a lost call took effect"]
    if manifest.poll is not None:
        poll = manifest.poll
        yield ["poll", f"{poll.tool} is asked each {seconds(poll.every)} until it is done"]
    if fresh is not None:
        resource = one_line(redacted(fresh.resource))
        yield ["freshness", f"{resource} has to be seen before, by {', '.join(fresh.read_by)}"]
    if key is not None:
        yield ["idempotency_key", one_line(redacted(key.value))]


def _stands_in(fallback: "Fallback") -> str:
    if fallback.tool is not None:
        return f"{fallback.tool} is called instead"
    return "the last kept answer" if fallback.stale else "a written value"
