"""A model and its tools, turn by turn; a script stands in for the model.

With a client of a vendor, `ask` is one line, such as
`client.chat.completions.create(model=…, messages=messages, tools=tools)`.
"""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import toolrt

MOST_TURNS = 10

Message = dict[str, Any]


def script() -> Iterator[Message]:
    """What the model says, turn by turn."""
    trip = {"origin": "Oslo", "destination": "Bergen", "at_most": None}
    yield calling("trips_trains", trip)
    yield calling("trips_book", {"train": "13:12", "seats": 2})
    yield {"role": "assistant", "content": "You have two seats on the 13:12."}


def calling(name: str, arguments: dict[str, Any]) -> Message:
    """A message that asks for one call."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{name}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


async def main() -> None:
    """Ask the model, make its calls, and ask again until it answers in words."""
    says = script()

    def ask(messages: list[Message], tools: list[Message]) -> Message:
        print(f"the model gets {len(messages)} messages and {len(tools)} tools")
        return next(says)

    async with toolrt.open(".") as rt:
        messages: list[Message] = [{"role": "user", "content": "A train to Bergen, for two."}]
        for _ in range(MOST_TURNS):
            tools = await rt.export("openai")
            answer = ask(messages, tools.documents)
            turn = await rt.turn(answer)
            messages += [answer, *turn.messages]
            print(messages[-1]["content"].strip())
            if turn.is_final or not turn.calls:
                break


asyncio.run(main())
