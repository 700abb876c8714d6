"""Cases about keys that say what becomes of a call that failed, or was made before."""

from collections.abc import Mapping
from typing import Any

from manifest.key_case import (
    ADA,
    POLICIES,
    Bench,
    Files,
    Look,
    Works,
    Wrong,
    command,
    data,
    failure,
    file,
    http,
    of_result,
    slept,
    told,
)

from toolrt.core.calls import Caller

OTHER = """
  u:
    description: U.
    parameters: {a: {type: string, default: x}}
    effect: read
    http: {url: $URL/u, query: {a: "{{ a }}"}}
"""
POST = "method: POST"
LOST = "retry: none"


def asked(*calls: tuple[Mapping[str, Any], float, Caller]) -> Look:
    """How often the service is asked by calls: arguments, the seconds before it, and by whom."""

    async def look(bench: Bench) -> int:
        for arguments, seconds, who in calls:
            if seconds:
                bench.clock.advance(seconds)
            await bench.runtime.call("t", dict(arguments), who)
        return len(bench.server.heard)

    return look


def with_other(files: Files) -> Files:
    """The same project with the tool `u` beside, which says what it was asked."""
    return {name: f"{text.rstrip()}\n{OTHER}" for name, text in files.items()}


def failing(keys: str) -> Files:
    """A tool whose service is down."""
    return with_other(http("", f"retry: none\n{keys}", "down"))


def watched(keys: str) -> Files:
    """A tool that changes something, and two that show it."""
    return file(f"""
        defaults: {{parameters: {{a: {{type: string, default: x}}}}, description: T., python: {{call: "kit:echo"}}}}
        tools:
          t: {{python: {{}}, {keys}}}
          u: {{python: {{}}, effect: read}}
          v: {{python: {{}}, effect: read}}
        """)


def after(reader: str | None, **arguments: Any) -> Look:
    """What the call comes to once one of the others was called."""

    async def look(bench: Bench) -> Any:
        if reader is not None:
            await bench.call(arguments, reader)
        return await failure()(bench)

    return look


def lost(keys: str) -> Files:
    """A tool whose service does something and cuts the connection."""
    return with_other(http(POST, f"retry: none\n{keys}", "reset"))


def stale_after_a_failure() -> Look:
    async def look(bench: Bench) -> Any:
        await bench.call({})
        bench.clock.advance(10.0)
        return (await bench.call({})).status

    return look


BOB = Caller("bob")
Q = "parameters: {q: {type: string, default: a}}\n"
KEY = "parameters: {a: {type: string, default: x}}\n"
CALL = ({}, 0.0, ADA)

RECOVERY: list[Works | Wrong] = [
    Works("tool.cache", http("", "«cache: 5m»"), asked(CALL, CALL), 1, 2),
    Works("tool.cache.ttl", http("", "cache: {ttl: «5m¦1s»}"), asked(CALL, ({}, 60.0, ADA)), 1, 2,
        held=True),
    Works("tool.cache.scope", http("", "cache: {ttl: 5m«, scope: global»}"),
        asked(CALL, ({}, 0.0, BOB)), 1, 2),
    Works("tool.cache.max_entries",
        http("query: {q: '{{ q }}'}", f"{Q}cache: {{ttl: 5m«, max_entries: 1»}}"),
        asked(({"q": "a"}, 0.0, ADA), ({"q": "b"}, 0.0, ADA), ({"q": "a"}, 0.0, ADA)), 3, 2),
    Wrong("tool.cache", command("§cache: 5m"), "unfit-cache"),
    Wrong("tool.cache.ttl", command("cache: §0s"), "out-of-range"),
    Works("policies.settings.cache",
        http("") | file("settings: [{tools: [t], timeout: 50s«, cache: 5m»}]", POLICIES),
        asked(CALL, CALL), 1, 2),
    Works("tool.fallback", failing("«fallback: u»"), failure(), "success", "execution-failed"),
    Works("tool.fallback.tool", failing("fallback: {«tool: u¦value: 3»}"), data("target"),
        "/u?a=x", 3),
    Works("tool.fallback.value", failing("fallback: {value: «{a: 1}¦2»}"), data(), {"a": 1}, 2),
    Works("tool.fallback.stale",
        http("", "retry: none\ncache: 1s\n«fallback: {stale: true}»", "soon-gone"),
        stale_after_a_failure(), "success", "error", held=True),
    Wrong("tool.fallback", command("fallback: §u"), "no-such-tool"),
    Wrong("tool.fallback.stale", command("fallback: {stale: §true}"), "needs-cache"),
    Works("tool.verify tool.verify.tool tool.verify.applied_when",
        lost("«verify: {tool: u, applied_when: 'result.method == \"GET\"'}»"), failure(),
        "success", "unknown-outcome"),
    Works("tool.verify.args",
        lost("verify: {tool: u, args: {a: «b¦c»}, applied_when: 'result.target == \"/u?a=b\"'}"),
        of_result("status"), "success", "error"),
    Wrong("tool.verify.tool", command("verify: {tool: §u, applied_when: result.x}"), "no-such-tool"),
    Wrong("tool.verify.applied_when",
        with_other(command("verify: {tool: u, applied_when: result.x.§}")), "invalid-condition"),
    Works("tool.freshness", watched("«freshness: {resource: '{{ a }}', read_by: [u]}»"),
        after(None), "conflict", "success"),
    Works("tool.freshness.resource", watched("freshness: {resource: «'{{ a }}'¦room», read_by: [u]}"),
        after("u", a="other"), "conflict", "success"),
    Works("tool.freshness.read_by", watched("freshness: {resource: '{{ a }}', read_by: [«u¦v»]}"),
        after("u"), "success", "conflict"),
    Wrong("tool.freshness.resource",
        watched("freshness: {resource: '{{ §b }}', read_by: [u]}"), "unknown-name"),
    Wrong("tool.freshness.read_by", watched("freshness: {resource: '{{ a }}', read_by: [§w]}"),
        "no-such-tool"),
    Works("tool.poll tool.poll.tool",
        with_other(http("", "«poll: {tool: u, every: 5s, until: 'true'}»")), data("target"),
        "/u?a=x", "/echo", held=True),
    Works("tool.poll.args",
        with_other(http("", "poll: {tool: u, args: {a: «'{{ result.method }}'¦b»}, every: 1s,"
            " until: 'true'}")), data("target"), "/u?a=GET", "/u?a=b", held=True),
    Works("tool.poll.every", with_other(http("", "poll: {tool: u, every: «5s¦2s», until: 'true'}")),
        slept(), [5.0], [2.0], held=True),
    Wrong("tool.poll.every", with_other(http("", "poll: {tool: u, every: §0s, until: 'true'}")),
        "out-of-range"),
    Works("tool.poll.until",
        with_other(http("", "poll: {tool: u, every: 5s, until: «'true'¦'false'»}")),
        of_result("status"), "success", "partial", held=True),
    Works("tool.idempotency_key tool.idempotency_key.value",
        http(POST, f"{KEY}«idempotency_key: 'k-{{{{ a }}}}'»"), told("idempotency-key"), "k-x", None),
    Works("tool.idempotency_key.header",
        http(POST, f"{KEY}idempotency_key: {{value: '{{{{ a }}}}'«, header: X-Once»}}"),
        told("x-once"), "x", None),
    Wrong("tool.idempotency_key", command("idempotency_key: §abc"), "weak-key"),
]  # fmt: skip
