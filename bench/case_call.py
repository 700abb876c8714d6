"""A call in process, against validate + await + result; a blocking callable against the hop."""

import asyncio
from dataclasses import dataclass
from typing import Any

from project.bench_tools import quote, quote_sync
from project_copy import ARGUMENTS, caller, opened
from pydantic_core import SchemaValidator, core_schema
from rounds import Call, Figure, cpu_ratio, in_turns, show

import toolrt

ROUNDS = 15
TOGETHER = 64
"""Calls of a batch."""


@dataclass(slots=True)
class Result:
    """The least that an engine must give back."""

    tool: str
    is_ok: bool
    value: Any
    attempts: int


def validator() -> SchemaValidator:
    """The arguments' schema, in the fastest validator there is."""
    city = core_schema.str_schema(min_length=1, max_length=80)
    days = core_schema.with_default_schema(core_schema.int_schema(ge=1, le=14), default=1)
    units = core_schema.literal_schema(["metric", "imperial"])
    fields = {
        "city": core_schema.typed_dict_field(city, required=True),
        "days": core_schema.typed_dict_field(days),
        "units": core_schema.typed_dict_field(
            core_schema.with_default_schema(units, default="metric")
        ),
    }
    return SchemaValidator(core_schema.typed_dict_schema(fields, extra_behavior="forbid"))


def limits() -> dict[str, Call]:
    """Both limits: on the loop, and over the default executor."""
    validate = validator().validate_python
    tools = {"bench.quote": quote}
    loop = asyncio.get_running_loop()

    async def on_the_loop() -> Result:
        return Result("bench.quote", True, await tools["bench.quote"](**validate(ARGUMENTS)), 1)

    async def over_the_hop() -> Result:
        value = await loop.run_in_executor(None, _blocking, validate(ARGUMENTS))
        return Result("bench.quote_sync", True, value, 1)

    return {"limit": on_the_loop, "hop": over_the_hop}


def _blocking(checked: dict[str, Any]) -> dict[str, Any]:
    return quote_sync(**checked)


def together(runtime: Any) -> dict[str, Call]:
    """Many calls in one go, and the same calls by themselves, gathered."""
    who = toolrt.Caller(principal="bench")
    calls = [{"tool": "bench.quote", "arguments": ARGUMENTS}] * TOGETHER

    async def batch() -> None:
        refuse_failures(await runtime.call_many(calls, who))

    async def gathered() -> None:
        many = (runtime.call("bench.quote", ARGUMENTS, who) for _ in range(TOGETHER))
        refuse_failures(await asyncio.gather(*many))

    return {"batch": batch, "gathered": gathered}


def refuse_failures(results: list[Any]) -> None:
    """End the run where a call failed: what is measured then is not what is meant."""
    wrong = [each for each in results if each.status != "success"]
    if wrong:
        raise SystemExit(f"{wrong[0].document()}")


async def main() -> None:
    bare = limits()
    async with opened() as runtime:
        contestants = {
            "limit": bare["limit"],
            "call": caller(runtime, "bench.quote", ARGUMENTS),
            "ruled": caller(runtime, "bench.ruled", ARGUMENTS),
            "kept": caller(runtime, "bench.kept", ARGUMENTS),
            "armed": caller(runtime, "bench.armed", ARGUMENTS),
        }
        calls = await in_turns(contestants, rounds=ROUNDS, batch=10_000)
        sync = caller(runtime, "bench.quote_sync", ARGUMENTS)
        hops = await in_turns({"hop": bare["hop"], "sync": sync}, rounds=ROUNDS, batch=1000)
        many = await in_turns(together(runtime), rounds=ROUNDS, batch=100)
    show(
        Figure("call, CPU", "validate + await", cpu_ratio(calls, "call", "limit"), 6.0, 4.5),
        Figure("call + CEL, CPU", "validate + await", cpu_ratio(calls, "ruled", "limit"), 10.0),
        Figure("armed call, CPU", "validate + await", cpu_ratio(calls, "armed", "limit"), 9.0),
        Figure("cache hit, CPU", "validate + await", cpu_ratio(calls, "kept", "limit"), 5.0),
        Figure(
            "batch of 64, CPU", "the calls, gathered", cpu_ratio(many, "batch", "gathered"), 1.5
        ),
        Figure("sync call, CPU", "the thread hop", cpu_ratio(hops, "sync", "hop"), 1.2, 1.0),
    )


asyncio.run(main())
