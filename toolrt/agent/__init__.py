"""The loop around a model: it asks, tools are called, it is told, until it answers."""
