"""What this is."""

from typing import Final

VERSION: Final = "0.1.0"
"""As pyproject.toml has it."""
