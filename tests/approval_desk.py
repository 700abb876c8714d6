"""A desk where tests ask, decide and run: a database, clocks that stand still, and a record."""

from dataclasses import replace

from toolrt.core.decisions import Caps, Group, Terms
from toolrt.stores import (
    approval_asks,
    approval_claims,
    approval_decisions,
    approval_lapses,
    approval_votes,
    approvals,
    grants,
)
from toolrt.stores.approval_decisions import Edit, NewDecision, Reasked
from toolrt.stores.approval_seals import ApprovalSeals
from toolrt.stores.approvals import Question, new_id
from toolrt.stores.moments import ManualMoments

TERMS = Terms(ttl_s=600.0, execute_by_s=300.0)
SEALS = ApprovalSeals(b"a key of the tests")
FOUR_EYES = replace(TERMS, groups=(Group(count=2),))


def question(call="1", **changes):
    """A question of `bot` about a call of its own number."""
    return Question(
        **{
            "tool": "billing.pay",
            "tool_hash": "tool-1",
            "asked_hash": f"asked-{call}",
            "final_hash": f"final-{call}",
            "asked_arguments": '{"amount":900}',
            "arguments": '{"amount":900}',
            "caller": '{"principal":"bot"}',
            "principal": "bot",
            "session": "s1",
            "terms": TERMS,
            **changes,
        }
    )


class Desk:
    def __init__(self, database):
        self.database = database
        self.moments = ManualMoments()
        self.entries = []

    def audit(self, session, entry):
        self.entries.append(dict(entry))

    @property
    def events(self):
        return [entry["event"] for entry in self.entries]

    async def run(self, operation, *arguments, **options):
        """An operation of `stores`, in a transaction of its own, at the present moment."""
        moment = self.moments.now()
        return await self.database.run(
            lambda session: operation(session, *arguments, moment, audit=self.audit, **options)
        )

    async def ask(self, call="1", caps=None, **changes):
        return await self.run(
            approval_asks.create,
            question(call, **changes),
            seals=SEALS,
            **({"caps": caps} if caps else {}),
        )

    async def decide(self, which, verdict="approve", actor="ann", **said):
        agents = said.pop("agents", ())
        decision = NewDecision(
            **{"actor": actor, "roles": (), "channel": "cli", "verdict": verdict, **said}
        )
        return await self.run(
            approval_decisions.decide, which, decision, agents=agents, seals=SEALS
        )

    async def edit(self, which, final_hash="final-edited", actor="ann", **said):
        change = {"roles": (), "channel": "cli", "arguments": '{"amount":1}', **said}
        return await self.run(
            approval_decisions.edit,
            which,
            Edit(actor=actor, final_hash=final_hash, **change),
            seals=SEALS,
        )

    async def reopen(self, which, terms):
        asked = Reasked(terms, 2, "policy-2")
        return await self.run(approval_decisions.reopen, which, asked, seals=SEALS)

    async def claim(self, which, owner="w1", final_hash="final-1", lease_s=30.0):
        return await self.run(
            approval_claims.claim,
            which,
            owner=owner,
            final_hash=final_hash,
            lease_s=lease_s,
            seals=SEALS,
        )

    async def renew(self, which, owner="w1", lease_s=30.0):
        return await self.run(approval_claims.renew, which, owner=owner, lease_s=lease_s)

    async def settle(self, which, state="succeeded", owner="w1", outcome='{"ok":true}'):
        return await self.run(
            approval_claims.settle, which, owner=owner, state=state, outcome=outcome
        )

    async def resolve(self, which, state="succeeded", actor="ann"):
        return await self.run(approval_claims.resolve_unknown, which, actor=actor, state=state)

    async def cancel(self, which, actor="bot"):
        return await self.run(approval_claims.cancel, which, actor=actor)

    async def sweep(self):
        return await self.run(approval_lapses.sweep)

    async def get(self, which):
        return await self.database.read(lambda session: approvals.get(session, which))

    async def state(self, which):
        return (await self.get(which)).state

    async def listed(self, *states, limit=100):
        return await self.database.read(lambda session: approvals.listed(session, states, limit))

    async def votes(self, which):
        return await self.database.read(lambda session: approval_votes.votes_on(session, which))

    async def approved(self):
        """The id of an approval that `ann` has said yes to, of which no record is made."""
        moment, many = self.moments.now(), Caps(1000, 1000)
        say = NewDecision("ann", (), "cli", "approve")

        def work(session):
            new = question(new_id())
            asked = approval_asks.create(session, new, moment, many, seals=SEALS)
            return approval_decisions.decide(session, asked.id, say, moment, seals=SEALS).record.id

        return await self.database.run(work)

    async def hash_of(self, approval):
        """The hash of what would run."""
        sql = "SELECT final_hash FROM approvals WHERE id = ?"
        row = await self.database.read(lambda session: session.row(sql, approval))
        return row[0] if row else ""

    async def grant(self, **changes):
        if "approval_id" not in changes:
            changes["approval_id"] = await self.approved()
        new = {
            "scope": "pattern",
            "tool": "billing.pay",
            "tool_hash": "tool-1",
            "principal": "bot",
            "pattern": {"amount": None},
            "granted_by": "ann",
            "max_uses": 10,
            "ttl_s": 3600.0,
            **changes,
            "final_hash": await self.hash_of(changes["approval_id"]),
        }
        return await self.run(grants.add, grants.NewGrant(**new), seals=SEALS)

    async def use(self, **changes):
        call = {
            "tool_hash": "tool-1",
            "principal": "bot",
            "tenant": None,
            "session": "s1",
            "arguments": {"amount": "900"},
            "terms": replace(TERMS, scopes=("session", "pattern")),
            **changes,
        }
        return await self.run(grants.use, grants.Use(**call), seals=SEALS)

    async def revoke(self, which, actor="ann"):
        return await self.run(grants.revoke, which, actor=actor)


def few(pending=50, asks=20):
    return Caps(pending, asks)
