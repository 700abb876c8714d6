"""JSON Schema work: from Python signatures, and the checking of arguments."""
