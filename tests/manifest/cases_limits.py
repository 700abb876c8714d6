"""Cases about keys that stand between a tool and too many calls: breaker, rate, concurrency."""

import asyncio
from typing import Any

from manifest.key_case import ADA, POLICIES, Bench, Files, Look, Works, Wrong, command, file, tool

from toolrt.core.calls import Caller

OK, BAD, OPEN, LIMITED = "success", "execution-failed", "circuit-open", "rate-limited"
FALSE, TRUE = "['false']", "['true']"
SERIAL = "shell: mkdir lock && sleep 0.05 && rmdir lock\n"


def _code(result: Any) -> str:
    return result.error.code if result.error else result.status


def ends(*steps: float | Caller) -> Look:
    """How calls end, one for each step: so many seconds after the one before, or by whom."""

    async def look(bench: Bench) -> list[str]:
        seen = []
        for step in steps:
            who = step if isinstance(step, Caller) else ADA
            if not isinstance(step, Caller) and step:
                bench.clock.advance(step)
            seen.append(_code(await bench.runtime.call("t", {}, who)))
        return seen

    return look


def mixed(good: int, bad: int) -> Look:
    """The end of a call after so many that went well, and so many that failed."""

    async def look(bench: Bench) -> str:
        for word in ["true"] * good + ["false"] * bad:
            await bench.call({"a": word})
        return _code(await bench.call({"a": "true"}))

    return look


def at_once(count: int) -> Look:
    """How often so many calls at the same time go well."""

    async def look(bench: Bench) -> int:
        results = await asyncio.gather(*[bench.call({}) for _ in range(count)])
        return [each.status for each in results].count("success")

    return look


async def hidden(bench: Bench) -> bool:
    """Whether lists leave the tool out after a call."""
    await bench.call({})
    return bench.runtime.breakers.is_hidden(bench.runtime.snapshot.tools["t"])


def settings(entry: str, keys: str) -> Files:
    """A tool with these keys, and a setting over it that has this entry beside another."""
    return tool(keys) | file(f"settings: [{{tools: [t], timeout: 50s«, {entry}»}}]", POLICIES)


MIXED = "parameters: {a: string}\nshell: {script: '\"$1\"', argv: ['{{ a }}']}\nretry: none\n"
BOB, EVE = Caller("bob", tenant="acme"), Caller("eve", tenant="acme")
ZOE = Caller("zoe", tenant="zoo")

LIMITS = [
    Works("tool.breaker tool.breaker.failures", command("«breaker: {failures: 2}»", FALSE),
        ends(0, 0, 0), [BAD, BAD, OPEN], [BAD, BAD, BAD]),
    Works("tool.breaker.recovery", command("breaker: {failures: 1«, recovery: 10s»}", FALSE),
        ends(0, 9.9, 0.2), [BAD, OPEN, BAD], [BAD, OPEN, OPEN], held=True),
    Works("tool.breaker.ratio", tool(f"{MIXED}breaker: {{failures: 99«, ratio: 0.6»}}"),
        mixed(5, 5), OK, OPEN),
    Works("tool.breaker.window", command("breaker: {failures: 99«, window: 10s»}", FALSE),
        ends(*[0] * 9, 11, 0), [BAD] * 11, [BAD] * 10 + [OPEN], held=True),
    Works("tool.breaker.hide", command("breaker: {failures: 1«, hide: true»}", FALSE),
        hidden, True, False),
    Works("tool.breaker.by", command("breaker: {failures: 1«, by: tenant»}", FALSE),
        ends(BOB, ZOE, BOB), [BAD, BAD, OPEN], [BAD, OPEN, OPEN]),
    Works("tool.rate", command("«rate: 2/1m»", TRUE), ends(0, 0, 0), [OK, OK, LIMITED], [OK] * 3),
    Works("tool.rate.limit", command("rate: {limit: «1¦2», per: 1m}", TRUE),
        ends(0, 0), [OK, LIMITED], [OK, OK]),
    Works("tool.rate.per", command("rate: {limit: 1, per: «10s¦1m»}", TRUE),
        ends(0, 9.9, 1), [OK, LIMITED, OK], [OK, LIMITED, LIMITED], held=True),
    Works("tool.rate.by", command("rate: {limit: 1, per: 1m«, by: caller»}", TRUE),
        ends(BOB, EVE), [OK, OK], [OK, LIMITED]),
    Works("tool.rate.by", command("rate: {limit: 1, per: 1m, by: «tenant¦caller»}", TRUE),
        ends(BOB, EVE), [OK, LIMITED], [OK, OK]),
    Wrong("tool.rate.per", command("rate: {limit: 1, per: §0s}"), "out-of-range"),
    Wrong("tool.breaker.by", command("breaker: {by: §team}"), "invalid-value"),
    Wrong("tool.breaker.recovery", command("breaker: {recovery: §0s}"), "out-of-range"),
    Works("tool.concurrency", tool(f"{SERIAL}«concurrency: 1»"), at_once(4), 4),
    Works("tool.concurrency", tool(f"{SERIAL}«concurrency: serial»"), at_once(4), 4),
    Works("policies.settings.breaker", settings("breaker: {failures: 1}", f"command: {FALSE}"),
        ends(0, 0), [BAD, OPEN], [BAD, BAD]),
    Works("policies.settings.rate", settings("rate: 1/1m", f"command: {TRUE}"),
        ends(0, 0), [OK, LIMITED], [OK, OK]),
    Works("policies.settings.concurrency", settings("concurrency: 1", SERIAL), at_once(4), 4),
]  # fmt: skip
