"""What a tools file offers to MCP clients beside its tools, on its way to the catalogue."""

from dataclasses import dataclass

from toolrt.loading.reader import Document
from toolrt.manifest.tool import ToolsFile


@dataclass(frozen=True, slots=True)
class WrittenOffers:
    """The prompts, resources and toolsets of a file, and the namespace that they are in."""

    file: ToolsFile
    namespace: str | None
    document: Document
