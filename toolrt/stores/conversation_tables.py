"""The table of conversations with models; a part of the fourth migration of `tables`."""

STATEMENTS: tuple[str, ...] = (
    """CREATE TABLE conversations (
      id TEXT PRIMARY KEY,
      principal TEXT NOT NULL,
      tenant TEXT NOT NULL,
      state TEXT NOT NULL,
      body BLOB NOT NULL,
      mac TEXT NOT NULL,
      owner TEXT,
      lease_wall DOUBLE PRECISION,
      lease_s DOUBLE PRECISION,
      lease_boot TEXT,
      changed_wall DOUBLE PRECISION NOT NULL,
      changed_s DOUBLE PRECISION NOT NULL,
      changed_boot TEXT NOT NULL
    )""",
    "CREATE INDEX conversations_changed ON conversations (changed_wall)",
)
