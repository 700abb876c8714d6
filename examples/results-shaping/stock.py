"""A callable with more in its answer than anybody wants."""

from typing import Any

ITEMS = {"apples": 12, "pears": 0}


def look(item: str) -> dict[str, Any]:
    """How much of an item is there."""
    if item not in ITEMS:
        return {"ok": False, "problem": {"text": f"nobody sells {item}"}}
    found = {"name": item, "count": ITEMS[item], "shelf": "B4"}
    return {"ok": True, "found": found, "server": "stock-7", "took_us": 83}


def report(lines: int) -> str:
    """A long text."""
    return "\n".join(f"line {number}" for number in range(1, lines + 1))


def supplier() -> dict[str, str]:
    """Who sells it to us."""
    return {"name": "ann", "mail": "ann@fruit.example", "pays": "account 12345678"}


def voucher() -> str:
    """A code for the buyer alone."""
    return "FRUIT-2030"
