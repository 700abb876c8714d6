"""Sources: one entry, many tools."""
