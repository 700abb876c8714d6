"""Tools that a vendor runs itself: how they stand in its requests, beside those of the project."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

VENDORS: Final[Mapping[str, str]] = {
    "openai_responses": "openai",
    "anthropic": "anthropic",
    "google": "google",
}
"""Dialect -> the vendor whose own tools its requests may have."""

APART: Final = frozenset({"google"})
"""Dialects in which they stand beside the functions, and not among them."""

_DATED: Final = re.compile(r"_\d{8}$")


@dataclass(frozen=True, slots=True)
class Hosted:
    """A tool at `vendor`, by its type there; `config` stands beside that."""

    vendor: str
    type: str
    config: Mapping[str, Any]

    def document(self, dialect: str) -> dict[str, Any] | None:
        """What a request of this dialect has of it; None where that is another vendor's."""
        if VENDORS.get(dialect) != self.vendor:
            return None
        if dialect == "google":
            return {self.type: dict(self.config)}
        named = {"name": _DATED.sub("", self.type)} if dialect == "anthropic" else {}
        return {"type": self.type, **named, **self.config}
