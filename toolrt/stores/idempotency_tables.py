"""The table of calls with an idempotency key; a part of the second migration of `tables`."""

STATEMENTS: tuple[str, ...] = (
    """CREATE TABLE keyed_calls (
      tool TEXT NOT NULL,
      tenant TEXT NOT NULL,
      key_hash TEXT NOT NULL,
      arguments_hash TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('running', 'unknown', 'done')),
      owner TEXT NOT NULL,
      body BLOB,
      begun_wall DOUBLE PRECISION NOT NULL,
      begun_s DOUBLE PRECISION NOT NULL,
      begun_boot TEXT NOT NULL,
      lease_wall DOUBLE PRECISION NOT NULL,
      lease_s DOUBLE PRECISION NOT NULL,
      lease_boot TEXT NOT NULL,
      PRIMARY KEY (tool, tenant, key_hash)
    )""",
    "CREATE INDEX keyed_calls_begun ON keyed_calls (begun_wall)",
)
