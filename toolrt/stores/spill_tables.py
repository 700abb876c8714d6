"""The tables of what was too long for a result, in parts, so that a range of it can be read."""

STATEMENTS: tuple[str, ...] = (
    """CREATE TABLE spills (
      id TEXT PRIMARY KEY,
      call_id TEXT NOT NULL,
      tool TEXT NOT NULL,
      principal TEXT NOT NULL,
      tenant TEXT,
      session TEXT,
      media_type TEXT NOT NULL,
      bytes BIGINT NOT NULL,
      created_wall DOUBLE PRECISION NOT NULL
    )""",
    "CREATE INDEX spills_call ON spills (call_id)",
    "CREATE INDEX spills_created ON spills (created_wall)",
    """CREATE TABLE spill_parts (
      spill_id TEXT NOT NULL REFERENCES spills (id) ON DELETE CASCADE,
      number BIGINT NOT NULL,
      body BLOB NOT NULL,
      PRIMARY KEY (spill_id, number)
    )""",
)
