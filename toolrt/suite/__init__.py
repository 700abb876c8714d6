"""The `tests:` that stand beside tools and rules: found, run, and judged."""
