"""Sources that `toolrt.lock` no longer speaks of: first sights would be enough again (L6)."""

from collections.abc import Iterator

from toolrt.loading.loader import LoadedFiles


def unlocked(before: LoadedFiles, after: LoadedFiles) -> Iterator[str]:
    """Each source of both whose approvals are gone, in words."""
    both = before.servers.keys() & after.servers.keys()
    if not both:
        return
    from toolrt.catalog.sources.mcp import locked  # noqa: PLC0415 - few projects have servers
    from toolrt.catalog.sources.pins import LockError  # noqa: PLC0415 - as above

    try:
        was, now = locked(before), locked(after)
    except LockError:
        return  # what cannot be read is an error of its own
    for source in sorted(both & was.keys() - now.keys()):
        yield f"`toolrt.lock` would no longer say what is approved of `{source}`"
