"""The HTTP face: one ASGI application over an open project, and the server that runs it."""
