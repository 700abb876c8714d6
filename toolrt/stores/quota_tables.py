"""The table of quotas; a part of the second migration of `tables`."""

STATEMENTS: tuple[str, ...] = (
    """CREATE TABLE quotas (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      tokens BIGINT NOT NULL CHECK (tokens >= 0),
      frees_wall DOUBLE PRECISION NOT NULL,
      frees_s DOUBLE PRECISION NOT NULL,
      frees_boot TEXT NOT NULL
    )""",
    "CREATE INDEX quotas_name ON quotas (name)",
)
