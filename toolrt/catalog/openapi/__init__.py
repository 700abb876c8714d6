"""OpenAPI 3.0 and 3.1 documents to tools as a file could say them; nothing here is compiled."""
