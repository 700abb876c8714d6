"""`python -m toolrt` is the same as `toolrt`."""

from toolrt.faces.cli.main import run

run()
