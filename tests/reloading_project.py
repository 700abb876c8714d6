"""A small project that tests write, open and change."""

from contextlib import asynccontextmanager

import toolrt
from toolrt.core.clock import ManualClock
from toolrt.testing import write_files

ECHO = """\
tools:
  echo:
    description: Gives a text back.
    parameters: {text: string}
    command: [printf, "{{ text }}"]
    effect: read
    timeout: 5s
"""
RULES = """\
default: deny
rules:
- {id: loud, decide: deny, tools: [echo], when: args.text == "loud", reason: too loud}
- {id: all, decide: allow, tools: [echo]}
"""


def replace(path, text):
    """Put another file in the place of one, as deployments do."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text)
    beside.replace(path)


class Project:
    """Files of a project; `open` gives a runtime over them."""

    def __init__(self, root):
        self.root = write_files(root, {"tools.d/echo.yaml": ECHO, "policies.d/rules.yaml": RULES})
        self.clock = ManualClock()

    @property
    def tools(self):
        return self.root / "tools.d" / "echo.yaml"

    @property
    def rules(self):
        return self.root / "policies.d" / "rules.yaml"

    @asynccontextmanager
    async def open(self, **options):
        async with toolrt.open(self.root, **{"clock": self.clock, **options}) as runtime:
            yield runtime


async def verdict(runtime, text="x"):
    """The code of a refusal, or the text that came back."""
    result = await runtime.call("echo", {"text": text})
    return result.error.code if result.error else result.text
