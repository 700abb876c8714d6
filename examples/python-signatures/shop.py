"""What a signature and a docstring say about a tool."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal

import toolrt

ORDERS = 100
PRICES = {"tea": 3.5, "coffee": 4.0}


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Address:
    """Where to bring it."""

    street: str
    floor: int = 0


def price(drink: Literal["tea", "coffee"], size: Size = Size.SMALL) -> float:
    """What a drink costs.

    Args:
        drink: Which one.
        size: How much of it.
    """
    return PRICES[drink] * (1.5 if size is Size.LARGE else 1.0)


async def deliver(drinks: list[str], to: Address, note: str | None = None) -> str:
    """Bring drinks to somebody.

    Args:
        drinks: What to bring.
        to: Where to bring it.
        note: What to say at the door.
    """
    said = f", saying {note!r}" if note else ""
    return f"{' and '.join(drinks)} to {to.street}, floor {to.floor}{said}"


def refund(order: Annotated[int, "Number of the order"], context: toolrt.Context) -> str:
    """Give the money back."""
    if order > ORDERS:
        raise toolrt.ToolError(
            f"there is no order {order}",
            code="not-found",
            hint=f"orders are numbered 1 to {ORDERS}",
        )
    return f"order {order} is refunded to {context.caller.principal}"
