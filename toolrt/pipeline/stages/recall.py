"""recall: what was asked in the same words before is answered before its words are looked at again.

It stands ahead of `validate`, for tools where nothing lies between that and `cache`: there the
arguments decide alone, and equal ones were found good before. Checking them is a fifth of what a
kept answer costs.
"""

from typing import Any, Final

from toolrt.catalog.snapshot import ToolEntry
from toolrt.core.calls import Invocation
from toolrt.core.results import Outcome
from toolrt.pipeline.caching import ToolAnswers
from toolrt.pipeline.kept import Shelf, write
from toolrt.pipeline.looking import unmade
from toolrt.pipeline.stage import Chain, Equipment, Stage, fold
from toolrt.pipeline.stages.approve import approve
from toolrt.pipeline.stages.authorize import authorize
from toolrt.pipeline.stages.limit import loop
from toolrt.pipeline.stages.once import once
from toolrt.pipeline.stages.recover import recover
from toolrt.pipeline.stages.refuse import refuse
from toolrt.pipeline.stages.validate import further_steps

BETWEEN: tuple[Stage, ...] = (authorize, loop, recover, refuse, approve, once)
"""What stands between the check of arguments and the kept answers."""

_PLAIN: Final = frozenset({bool, type(None)})
"""Beside texts and whole numbers: no two values of these kinds are written alike as JSON."""


def recall(entry: ToolEntry, equipment: Equipment, following: Chain) -> Chain:
    """Absent where nothing is kept, or where more than the arguments decides about a call; and
    where a hook is handed them, for all hits have the same ones.
    """
    options, is_traced = entry.manifest.cache, equipment.telemetry.spans is not None
    if options is None or is_traced or entry.hooks is not None:
        return following
    if entry.manifest.coerce != "none" or further_steps(entry):
        return following
    if fold(BETWEEN, entry, equipment, unmade) is not unmade:
        return following
    answers = equipment.answers.of(entry, options)
    return _recalling(answers, following) if answers.is_quick else following


def _recalling(answers: ToolAnswers, following: Chain) -> Chain:
    owners, shelf, ttl_s = answers.owners, answers.shelf, answers.ttl_s
    said, monotonic = shelf.said, answers.monotonic

    async def handle(invocation: Invocation) -> Outcome:
        words, caller = words_of(invocation.arguments), invocation.caller
        known = owners.get(id(caller))
        if words is None or known is None or known[0] is not caller:
            return await following(invocation)
        kept = said.get((known[1], words))
        if kept is None or monotonic() - kept.made_s >= ttl_s:
            outcome = await following(invocation)
            _learn(shelf, known[1], words, invocation)
            return outcome
        invocation.arguments = kept.arguments
        kept.is_used = invocation.is_cached = True
        return kept.answer()

    return handle


def _learn(shelf: Shelf, owner: bytes, words: bytes, invocation: Invocation) -> None:
    """Know the words of a call again that was answered from memory: no binding had them."""
    checked = words_of(invocation.arguments) if invocation.is_cached else None
    if checked is not None:
        shelf.learn((owner, words), (owner, checked), invocation.arguments)


def words_of(arguments: Any) -> bytes | None:
    """Arguments as JSON where nothing else is written like them; None where something may be."""
    if type(arguments) is not dict:
        return None
    for name, value in arguments.items():
        kind = type(value)
        if type(name) is not str or (kind is not str and kind is not int and kind not in _PLAIN):
            return None
    try:
        return write(arguments)
    except ValueError:  # half a character
        return None
