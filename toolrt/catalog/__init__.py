"""Manifests to an immutable, numbered snapshot of tools."""
