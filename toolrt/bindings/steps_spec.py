"""What a user writes of the kind `steps`: other tools, and what goes from one to the next."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from toolrt.bindings.base import Spec
from toolrt.core.names import nearest

ID = r"^[a-z][a-z0-9_]*$"
MOST_STEPS = 100


class Instead(Spec):
    """What stands in for the data of a step that failed; its texts are templates."""

    value: Any


def _form(written: Any) -> str | None:
    """Which form of `on_error` is meant; also where its key is misspelt."""
    if isinstance(written, Instead):
        return "instead"
    if isinstance(written, dict):
        return "instead" if any(nearest(str(key), ("value",)) for key in written) else None
    return "word" if written in ("fail", "continue") else None


OnError = Annotated[
    Annotated[Literal["fail", "continue"], Tag("word")] | Annotated[Instead, Tag("instead")],
    Discriminator(
        _form,
        custom_error_type="on_error",
        custom_error_message="expected fail, continue or {value: …}",
    ),
]


class Step(Spec):
    """One call. `args` are templates; `when` is a condition, `for_each` a template of a list."""

    id: str = Field(pattern=ID)
    tool: str = Field(min_length=1)
    args: dict[str, Any] = Field(default_factory=dict)
    when: str | None = None
    for_each: str | None = None
    on_error: OnError = "fail"


class StepsSpec(Spec):
    """The steps in their order."""

    steps: list[Step] = Field(min_length=1, max_length=MOST_STEPS)
