"""toolrt: tools in YAML, one pipeline around every call."""

__version__ = "0.1.0"
