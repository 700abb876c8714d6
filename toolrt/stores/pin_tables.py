"""The table of foreign definitions as they were first seen; a part of the fourth migration of
`tables`.
"""

STATEMENTS: tuple[str, ...] = (
    """CREATE TABLE pins (
      source TEXT NOT NULL,
      tool TEXT NOT NULL,
      digest TEXT NOT NULL,
      definition TEXT NOT NULL,
      at DOUBLE PRECISION NOT NULL,
      PRIMARY KEY (source, tool)
    )""",
)
