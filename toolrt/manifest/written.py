"""The base of everything a user writes."""

from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError


class Written(BaseModel):
    """Strict keys, strict types, frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def long_form(value: Any, key: str) -> Any:
    """`{key: value}` for the short form of a mapping; a mapping stays as it is."""
    return value if isinstance(value, dict) or value is None else {key: value}


def require_one(model: BaseModel, *names: str) -> None:
    """Raise a pydantic error unless exactly one of the keys `names` is written."""
    if sum(getattr(model, name) is not None for name in names) != 1:
        known = f"{', '.join(names[:-1])} or {names[-1]}"
        raise PydanticCustomError("one-of", "needs exactly one of {known}", {"known": known})
