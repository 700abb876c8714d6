"""A project compiled again while it is open: what changed, whether it may be, and the swap."""
