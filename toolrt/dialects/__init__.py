"""The vendors' wire shapes of tools, calls and results: one file a vendor."""
