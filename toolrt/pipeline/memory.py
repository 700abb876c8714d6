"""What calls are remembered by: the questions to people, and the journal."""

from dataclasses import dataclass

from toolrt.observe.journal import Journal
from toolrt.pipeline.recollection import Recollection
from toolrt.policy.questions import Questions


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of one runtime; all parts lie in the same store."""

    questions: Questions
    journal: Journal
    recollection: Recollection
