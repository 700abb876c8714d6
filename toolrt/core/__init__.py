"""Words that every part of toolrt shares; no I/O happens here."""
