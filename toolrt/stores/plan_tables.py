"""The tables of plans that wait, or run: a part of the fourth migration of `tables`."""

STATEMENTS: tuple[str, ...] = (
    """CREATE TABLE plan_runs (
      key TEXT PRIMARY KEY,
      likeness TEXT NOT NULL,
      tool TEXT NOT NULL,
      caller TEXT NOT NULL,
      arguments TEXT NOT NULL,
      approval TEXT,
      thought TEXT,
      mac TEXT NOT NULL,
      owner TEXT,
      lease_wall DOUBLE PRECISION,
      lease_s DOUBLE PRECISION,
      lease_boot TEXT,
      changed_wall DOUBLE PRECISION NOT NULL,
      changed_s DOUBLE PRECISION NOT NULL,
      changed_boot TEXT NOT NULL
    )""",
    "CREATE INDEX plan_runs_likeness ON plan_runs (likeness)",
    "CREATE INDEX plan_runs_changed ON plan_runs (changed_wall)",
    """CREATE TABLE plan_steps (
      key TEXT NOT NULL REFERENCES plan_runs (key) ON DELETE CASCADE,
      slot TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('begun', 'waiting', 'done')),
      approval TEXT,
      body BLOB,
      mac TEXT NOT NULL,
      PRIMARY KEY (key, slot)
    )""",
    "CREATE INDEX plan_steps_approval ON plan_steps (approval) WHERE approval IS NOT NULL",
)
