"""What is known of a project although some of its files are broken.

Nobody knows what a broken file says. So what would only follow from its silence is not told of the
other files: that a name is none, that there are no rules.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from pydantic import BaseModel

from toolrt.core.faults import Fault
from toolrt.loading.problems import is_about
from toolrt.loading.reader import Document
from toolrt.manifest.policy import PoliciesFile
from toolrt.manifest.tool import ToolsFile

_IN: Mapping[str, tuple[str, ...]] = {
    "tools_dir": ("tools", "targets"),
    "policies_dir": ("policies",),
    "vars": ("vars",),
    "defaults": ("defaults",),
    "identities": ("identities",),
}
"""What stands under a key of the project file, or in the folder that it names."""


@dataclass(slots=True)
class Knowledge:
    """Of each of these, whether all that is written was read."""

    targets: bool = True
    tools: bool = True
    policies: bool = True
    vars: bool = True
    defaults: bool = True
    identities: bool = True

    def join(self, other: "Knowledge") -> None:
        """Know no more than `other`, who read another file."""
        for each in fields(self):
            if not getattr(other, each.name):
                setattr(self, each.name, False)

    def forget(self, key: str | None) -> None:
        """What stands under `key` of the project file cannot be read; None for the whole file."""
        for one in (key,) if key is not None else _IN:
            for name in _IN[one]:
                setattr(self, name, False)

    def look(self, document: Document, key: str | None) -> None:
        """Doubt what a document may say that has errors; `key` as in `forget`."""
        if not isinstance(document.data, dict):
            self.forget(key)
        elif any(fault.severity == "error" for fault in document.faults):
            self.tools &= key == "policies_dir"
            self.policies &= key == "tools_dir"
            self.identities &= key is not None

    def doubt(self, model: type[BaseModel], faults: Iterable[Fault]) -> None:
        """Doubt what is wrong in a file that was read as `model`."""
        for fault in faults:
            if model is PoliciesFile:
                self.policies = False
            elif model is ToolsFile:
                self._doubt_tools(fault)
            else:
                self._doubt_project(fault)

    def _doubt_tools(self, fault: Fault) -> None:
        depth = len(fault.path)
        if is_about(fault, "targets"):
            self.targets &= depth > 1
        is_of_many = is_about(fault, "namespace") or is_about(fault, "sources")
        if is_of_many or (is_about(fault, "tools") and depth <= _OF_A_TOOL):
            self.tools = False

    def _doubt_project(self, fault: Fault) -> None:
        for key in _IN:
            if is_about(fault, key):
                self.forget(key)


_OF_A_TOOL = 2
"""How deep the path of a tool is that is no tool."""


def names_below(key: str, faults: Iterable[Fault]) -> set[str]:
    """The names under `key` of a file that faults are about."""
    about = (fault for fault in faults if is_about(fault, key))
    return {str(step) for fault in about for step in fault.path[1:2]}
