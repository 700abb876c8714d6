"""A few calls, and what toolrt counted of them; with `--spans` also their spans."""

import asyncio
import sys

import toolrt

CALLS = [
    ("kitchen.taste", {"dish": "soup"}),
    ("kitchen.taste", {"dihs": "soup"}),
    ("kitchen.tatse", {"dish": "soup"}),
    *[("kitchen.oven", {})] * 3,
    *[("kitchen.menu", {})] * 2,
]


def trace() -> None:
    """Set a provider of tracers that prints the name of each span when it ends."""
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - only with `--spans`
    from opentelemetry.sdk.trace.export import (  # noqa: PLC0415 - only with `--spans`
        ConsoleSpanExporter,
        SimpleSpanProcessor,
    )
    from opentelemetry.trace import set_tracer_provider  # noqa: PLC0415 - only with `--spans`

    provider = TracerProvider()
    names = ConsoleSpanExporter(formatter=lambda span: f"{span.name}\n")
    provider.add_span_processor(SimpleSpanProcessor(names))
    set_tracer_provider(provider)


async def dine() -> str:
    """Make the calls; gives the page of metrics."""
    async with toolrt.open(".") as rt:
        for name, arguments in CALLS:
            await rt.call(name, arguments)
        return await rt.metrics()


if "--spans" in sys.argv:
    trace()
page = asyncio.run(dine())
if "--spans" not in sys.argv:
    told = [line for line in page.splitlines() if "_total" in line and not line.endswith(" 0.0")]
    print("\n".join(line for line in told if not line.startswith("#")))
