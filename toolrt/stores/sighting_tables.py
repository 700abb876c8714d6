"""The table of what callers have seen; a part of the second migration of `tables`."""

STATEMENTS: tuple[str, ...] = (
    """CREATE TABLE sightings (
      session TEXT NOT NULL,
      thing TEXT NOT NULL,
      version TEXT NOT NULL,
      at DOUBLE PRECISION NOT NULL,
      PRIMARY KEY (session, thing)
    )""",
    "CREATE INDEX sightings_at ON sightings (at)",
)
