"""Agents of Python code as tools: `ask_NAME(request)` (U40).

An agent has `do` or `do_async`, and says what it is there for: a `role` or a `goal`, unless
`do_async` shows what it is.
"""

import inspect
import re
from typing import Any, Final

from toolrt.bindings.agent import METHODS
from toolrt.catalog.sources.base import SourceTool
from toolrt.catalog.sources.subjects import Subject
from toolrt.core.marks import Toolkit

_SAYS: Final = ("role", "goal")
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")


def is_agent(found: Any) -> bool:
    """Whether it is one, or the class of one; nothing of it is asked."""
    kind = found if isinstance(found, type) else type(found)
    if issubclass(kind, Toolkit) or inspect.ismodule(found):
        return False
    asked, said = (
        [each for each in names if inspect.getattr_static(found, each, None) is not None]
        for names in (METHODS, _SAYS)
    )
    return "do_async" in asked or bool(asked and said)


def agent_name(found: Any) -> str:
    """`ask_` and the agent's own name, or that of its class, in small letters."""
    name = inspect.getattr_static(found, "name", None)
    kind = found if isinstance(found, type) else type(found)
    own = name if isinstance(name, str) and name.strip() else kind.__name__
    return f"ask_{'_'.join(filter(None, _WORDS.split(own))).lower()}"


def agent(subject: Subject) -> SourceTool | None:
    """The tool that asks the agent; None for anything else."""
    if subject.select is not None or not is_agent(subject.found):
        return None
    key = ("agent", id(subject.found))
    written = {"agent": {"python": subject.owner()}}
    return SourceTool(agent_name(subject.found), written, place=subject.place, key=key)
