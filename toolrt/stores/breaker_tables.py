"""The table of breakers; a part of the second migration of `tables`."""

STATEMENTS: tuple[str, ...] = (
    """CREATE TABLE breakers (
      kind TEXT NOT NULL CHECK (kind IN ('target', 'tool')),
      name TEXT NOT NULL,
      options TEXT NOT NULL,
      revision BIGINT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('closed', 'open', 'half-open')),
      failures BIGINT NOT NULL,
      reopened BIGINT NOT NULL,
      owner TEXT,
      why TEXT,
      until_wall DOUBLE PRECISION,
      until_s DOUBLE PRECISION,
      until_boot TEXT,
      changed DOUBLE PRECISION NOT NULL,
      PRIMARY KEY (kind, name, options)
    )""",
)
