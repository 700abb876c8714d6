"""The tables, as numbered migrations, and what the database itself forbids.

Written once for all back ends, in SQLite's words: elsewhere `BLOB` is called otherwise, and a
`Guard` becomes whatever stops a statement there. Moments take three columns (see `moments`). A
migration that has been released is never changed; a change of the tables is one more.
"""

from dataclasses import dataclass
from typing import Literal

from toolrt.stores import (
    breaker_tables,
    cache_tables,
    conversation_tables,
    idempotency_tables,
    pin_tables,
    plan_tables,
    quota_tables,
    sighting_tables,
    spill_tables,
)

APPLICATION_ID = 0x746C7274
"""Marks the files of SQLite as ours: `tlrt`."""

PRUNING = "EXISTS (SELECT 1 FROM meta WHERE name = 'pruning')"
"""True while retention is at work: it keeps a row of that name in `meta` for its transaction."""

FINAL = ("denied", "expired", "cancelled", "succeeded", "failed")
"""The states in which an approval stays for good (A2)."""

_WAYS = (
    "pending>approved", "pending>denied", "pending>expired", "pending>cancelled",
    "approved>claimed", "approved>pending", "approved>expired", "approved>cancelled",
    "claimed>succeeded", "claimed>failed", "claimed>unknown",
    "unknown>succeeded", "unknown>failed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses, with `message`, a statement on a row of `table` for which `when` holds.

    `when` speaks of the row as `OLD` and, for updates, `NEW`.
    """

    name: str
    table: str
    event: Literal["UPDATE", "DELETE"]
    when: str
    message: str


Statement = str | Guard


def _moment(name: str, rule: str = "") -> str:
    types = (("wall", "DOUBLE PRECISION"), ("s", "DOUBLE PRECISION"), ("boot", "TEXT"))
    return ", ".join(f"{name}_{part} {kind} {rule}".rstrip() for part, kind in types)


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)


_FINISHED = f"OLD.state IN ({_listed(FINAL)})"

_META = "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"

_APPROVALS: tuple[Statement, ...] = (
    f"""CREATE TABLE approvals (
      id TEXT PRIMARY KEY,
      revision BIGINT NOT NULL DEFAULT 0,
      state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'claimed', 'unknown',
        {_listed(FINAL)})),
      mode TEXT NOT NULL CHECK (mode IN ('confirm', 'input', 'external')),
      tool TEXT NOT NULL,
      tool_hash TEXT NOT NULL,
      asked_hash TEXT NOT NULL,
      final_hash TEXT NOT NULL,
      asked_arguments TEXT NOT NULL,
      arguments TEXT NOT NULL,
      sealed TEXT,
      caller TEXT NOT NULL,
      principal TEXT NOT NULL,
      tenant TEXT,
      session TEXT,
      reason TEXT,
      rules TEXT NOT NULL,
      terms TEXT NOT NULL,
      view TEXT,
      fields TEXT,
      generation BIGINT NOT NULL,
      policy_hash TEXT NOT NULL,
      call_id TEXT NOT NULL,
      owner TEXT,
      edited_by TEXT,
      outcome TEXT,
      {_moment("created", "NOT NULL")},
      {_moment("expires", "NOT NULL")},
      {_moment("execute_by")},
      {_moment("lease")},
      {_moment("ended")},
      CHECK (sealed IS NULL OR state NOT IN ({_listed(FINAL)}))
    )""",
    """CREATE UNIQUE INDEX approvals_live ON approvals (asked_hash)
      WHERE state IN ('pending', 'approved')""",
    "CREATE INDEX approvals_asked ON approvals (asked_hash, principal, created_wall)",
    "CREATE INDEX approvals_state ON approvals (state)",
    "CREATE INDEX approvals_open ON approvals (principal, state)",
    "CREATE INDEX approvals_created ON approvals (principal, created_wall)",
    "CREATE INDEX approvals_created_s ON approvals (principal, created_boot, created_s)",
    Guard("approvals_final", "approvals", "UPDATE", _FINISHED, "a finished approval stays"),
    Guard(
        "approvals_way", "approvals", "UPDATE",
        f"NEW.state <> OLD.state AND OLD.state || '>' || NEW.state NOT IN ({_listed(_WAYS)})",
        "an approval cannot go that way",
    ),
    Guard(
        "approvals_same", "approvals", "UPDATE",
        "NEW.id <> OLD.id OR NEW.asked_hash <> OLD.asked_hash OR NEW.tool_hash <> OLD.tool_hash"
        " OR NEW.caller <> OLD.caller OR NEW.principal <> OLD.principal"
        " OR NEW.asked_arguments <> OLD.asked_arguments",
        "what was asked stays",
    ),
    Guard(
        "approvals_edit", "approvals", "UPDATE",
        "OLD.state <> 'pending' AND (NEW.final_hash <> OLD.final_hash"
        " OR NEW.arguments <> OLD.arguments)",
        "only a pending approval can be edited",
    ),
    Guard("approvals_kept", "approvals", "DELETE", f"NOT {PRUNING}", "approvals are kept"),
    """CREATE TABLE approval_decisions (
      approval_id TEXT NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
      actor TEXT NOT NULL,
      roles TEXT NOT NULL,
      channel TEXT NOT NULL CHECK (channel IN ('cli', 'http', 'console', 'python')),
      verdict TEXT NOT NULL CHECK (verdict IN ('approve', 'deny')),
      note TEXT,
      at DOUBLE PRECISION NOT NULL,
      number BIGINT NOT NULL,
      final_hash TEXT NOT NULL,
      UNIQUE (approval_id, actor)
    )""",
    Guard(
        "approval_decisions_same", "approval_decisions", "UPDATE",
        "NEW.approval_id <> OLD.approval_id OR NEW.actor <> OLD.actor"
        " OR NEW.final_hash = OLD.final_hash",
        "a decision stays as long as what was decided about",
    ),
    Guard(
        "approval_decisions_kept", "approval_decisions", "DELETE", f"NOT {PRUNING}",
        "decisions are kept",
    ),
)  # fmt: skip

_GRANTS: tuple[Statement, ...] = (
    f"""CREATE TABLE grants (
      id TEXT PRIMARY KEY,
      scope TEXT NOT NULL CHECK (scope IN ('session', 'pattern')),
      tool TEXT NOT NULL,
      tool_hash TEXT NOT NULL,
      principal TEXT NOT NULL,
      tenant TEXT,
      session TEXT,
      pattern TEXT NOT NULL,
      granted_by TEXT NOT NULL,
      approval_id TEXT,
      max_uses BIGINT NOT NULL CHECK (max_uses >= 1),
      uses BIGINT NOT NULL DEFAULT 0,
      revoked_by TEXT,
      {_moment("created", "NOT NULL")},
      {_moment("expires", "NOT NULL")},
      CHECK (uses <= max_uses),
      CHECK (expires_s - created_s <= 86400.5),
      CHECK (scope <> 'session' OR session IS NOT NULL)
    )""",
    "CREATE INDEX grants_tool ON grants (tool_hash, principal)",
    Guard(
        "grants_same", "grants", "UPDATE",
        "NEW.id <> OLD.id OR NEW.tool_hash <> OLD.tool_hash OR NEW.principal <> OLD.principal"
        " OR NEW.pattern <> OLD.pattern OR NEW.max_uses <> OLD.max_uses"
        " OR NEW.expires_wall <> OLD.expires_wall OR NEW.expires_s <> OLD.expires_s"
        " OR NEW.expires_boot <> OLD.expires_boot OR NEW.uses < OLD.uses",
        "a grant never grows",
    ),
    Guard(
        "grants_revoked", "grants", "UPDATE", "OLD.revoked_by IS NOT NULL",
        "a revoked grant stays revoked",
    ),
    Guard("grants_kept", "grants", "DELETE", f"NOT {PRUNING}", "grants are kept"),
)  # fmt: skip

_JOURNAL: tuple[Statement, ...] = (
    """CREATE TABLE journal (
      writer TEXT NOT NULL,
      seq BIGINT NOT NULL,
      kind TEXT NOT NULL,
      at DOUBLE PRECISION NOT NULL,
      until DOUBLE PRECISION NOT NULL,
      count BIGINT NOT NULL,
      body BLOB NOT NULL,
      mac TEXT NOT NULL,
      PRIMARY KEY (writer, seq)
    )""",
    "CREATE INDEX journal_at ON journal (at)",
    """CREATE TABLE journal_heads (
      writer TEXT PRIMARY KEY,
      seq BIGINT NOT NULL,
      mac TEXT NOT NULL,
      seal TEXT NOT NULL
    )""",
    Guard("journal_same", "journal", "UPDATE", "1 = 1", "what is in the journal stays"),
    Guard("journal_kept", "journal", "DELETE", f"NOT {PRUNING}", "the journal is kept"),
)

_ENDED = "CREATE INDEX approvals_ended ON approvals (ended_wall) WHERE ended_wall IS NOT NULL"

_SEALS = (
    "ALTER TABLE approval_decisions ADD COLUMN seal TEXT",
    "ALTER TABLE grants ADD COLUMN seal TEXT",
    "ALTER TABLE grants ADD COLUMN final_hash TEXT",
)

_EXECUTOR: tuple[Statement, ...] = (
    _ENDED,
    *_SEALS,
    *spill_tables.STATEMENTS,
    *breaker_tables.STATEMENTS,
    *quota_tables.STATEMENTS,
    *cache_tables.STATEMENTS,
    *idempotency_tables.STATEMENTS,
    *sighting_tables.STATEMENTS,
)

_WHOLE_ROWS = (
    "ALTER TABLE approvals ADD COLUMN seal TEXT",
    "ALTER TABLE approval_decisions ADD COLUMN supplied TEXT",
)

_SOURCES_AND_PLANS: tuple[Statement, ...] = (
    *plan_tables.STATEMENTS,
    *pin_tables.STATEMENTS,
    *conversation_tables.STATEMENTS,
)

MIGRATIONS: tuple[tuple[Statement, ...], ...] = (
    (_META, *_APPROVALS, *_GRANTS, *_JOURNAL),
    _EXECUTOR,
    _WHOLE_ROWS,
    _SOURCES_AND_PLANS,
)
"""Migration n leads from version n to n + 1; the version is the number of those made."""

VERSION = len(MIGRATIONS)

TABLES = ("meta", "approvals", "approval_decisions", "grants", "journal", "journal_heads")
GUARDS = tuple(each.name for made in MIGRATIONS for each in made if isinstance(each, Guard))
