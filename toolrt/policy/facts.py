"""What policy knows of a tool; the composition root makes it of what the catalogue compiled."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolrt.manifest.policy import Limits
from toolrt.manifest.result import Hitl
from toolrt.manifest.tool import Effect


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """One tool as rules see it.

    `root` is the `tool` root of conditions. `arguments` are the JSON Schemas of all parameters by
    name, bound ones included; None when they are not known, because the tool has errors.
    `sensitive` are the parameters that carry sensitive data. `is_foreign` says that the tool's
    definition comes from elsewhere (an MCP server, an OpenAPI document); `hands_text_on` that it
    passes a caller's text to an interpreter (P16). `variants` are its forms for some callers, and
    `limits` what operators' settings say of its calls. Where not `is_exposed`, other tools alone
    call it. `has_steps` says that it does nothing but call others.
    """

    name: str
    root: Mapping[str, Any] = field(default_factory=dict)
    effect: Effect = "write"
    arguments: Mapping[str, Any] | None = field(default_factory=dict)
    sensitive: frozenset[str] = frozenset()
    vars: Mapping[str, Any] = field(default_factory=dict)
    hitl: Hitl | None = None
    kind: str = "python"
    is_foreign: bool = False
    hands_text_on: bool = False
    variants: "tuple[ToolFacts, ...]" = ()
    limits: Limits | None = None
    is_exposed: bool = True
    has_steps: bool = False
