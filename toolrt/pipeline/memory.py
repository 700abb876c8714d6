"""What calls are remembered by: the questions to people, the journal, and the store itself."""

from dataclasses import dataclass

from toolrt.observe.journal import Journal
from toolrt.pipeline.recollection import Recollection
from toolrt.pipeline.spilling import Spills
from toolrt.policy.questions import Questions
from toolrt.stores.base import Database
from toolrt.stores.cache import KeptAnswers
from toolrt.stores.conversations import KeptConversations
from toolrt.stores.idempotency import KeyedCalls
from toolrt.stores.moments import Moments
from toolrt.stores.plans import PlanRuns
from toolrt.stores.sightings import KeptSightings


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of one runtime; all parts lie in the same store."""

    questions: Questions
    journal: Journal
    recollection: Recollection
    spills: Spills
    database: Database
    moments: Moments
    kept_answers: KeptAnswers
    keyed_calls: KeyedCalls
    sightings: KeptSightings
    plan_runs: PlanRuns
    conversations: KeptConversations
