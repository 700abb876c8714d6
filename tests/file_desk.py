"""File tools without a project around them: a folder, and calls as the pipeline would make them."""

from pathlib import Path

import pytest

from toolrt.core.calls import Caller, Invocation, Sighting
from toolrt.core.clock import SystemClock
from toolrt.core.context import Context
from toolrt.core.errors import ToolError
from toolrt.packs.files import Files


def context(project, *, expected=None, within_s=30.0):
    """The Context of a call; what it tells is in its `sighting`."""
    clock = SystemClock()
    now = clock.monotonic()
    made = Invocation("c-1", "files.t", {}, Caller(), clock, now, now + within_s)
    made.sighting = Sighting(expected)
    return Context(made, Path(project))


class Desk:
    """The tools over one folder of their own; what was not asked to be there lies beside it."""

    def __init__(self, folder):
        (folder / "outside").mkdir()
        (folder / "ws").mkdir()
        self._sit(folder)

    @classmethod
    def over(cls, folder):
        """Another one over the same folder."""
        made = cls.__new__(cls)
        made._sit(folder)
        return made

    def _sit(self, folder):
        self.outside, self.folder = folder / "outside", folder / "ws"
        self.files = Files("ws")
        self.project = folder
        self.told = None

    def call(self, tool, /, *given, expected=None, within_s=30.0, **more):
        """What a tool answers; `told` is the version that it told."""
        call = context(self.project, expected=expected, within_s=within_s)
        try:
            return getattr(self.files, tool)(call, *given, **more)
        finally:
            self.told = call._invocation.sighting.told

    def refused(self, tool, /, *given, **more):
        """The code and the message of a call that must fail."""
        with pytest.raises(ToolError) as caught:
            self.call(tool, *given, **more)
        error = caught.value
        assert str(self.project) not in f"{error.message} {error.hint}"
        return error.code, error.message

    def put(self, name, body=b""):
        """A file in the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body if isinstance(body, bytes) else body.encode())
        return path

    def body(self, name):
        return (self.folder / name).read_bytes()

    def names(self):
        """Everything in the folder."""
        return sorted(str(each.relative_to(self.folder)) for each in self.folder.rglob("*"))
