"""The table of kept answers; a part of the second migration of `tables`."""

STATEMENTS: tuple[str, ...] = (
    """CREATE TABLE kept_answers (
      tool TEXT NOT NULL,
      digest TEXT NOT NULL,
      body BLOB NOT NULL,
      mac TEXT NOT NULL,
      made_wall DOUBLE PRECISION NOT NULL,
      made_s DOUBLE PRECISION NOT NULL,
      made_boot TEXT NOT NULL,
      lasts DOUBLE PRECISION NOT NULL,
      PRIMARY KEY (tool, digest)
    )""",
    "CREATE INDEX kept_answers_made ON kept_answers (made_wall)",
)
