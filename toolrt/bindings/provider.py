"""Kind `provider`: a tool that a model's vendor runs, such as its web search.

It stands in the requests of that vendor, and nowhere else: nothing of it is called by us.
"""

from typing import Any, Literal

from pydantic import Field

from toolrt.bindings.base import BindContext, Binding, Described, Effect, Kind, Spec
from toolrt.core.calls import Invocation
from toolrt.core.errors import RefusedError
from toolrt.core.hosted import Hosted
from toolrt.core.results import Answer

_NO_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}


class ProviderSpec(Spec):
    """The vendor, what it calls the tool, and what it is told about it."""

    vendor: Literal["openai", "anthropic", "google"] = Field(description="Who runs the tool.")
    type: str = Field(min_length=1, description="What the vendor calls it, as `web_search`.")
    config: dict[str, Any] = Field(
        default_factory=dict, description="What stands beside that in a request."
    )


class AtVendor:
    """Refuses every call: a model has it run at its vendor."""

    def __init__(self, spec: ProviderSpec) -> None:
        self.hosted = Hosted(spec.vendor, spec.type, spec.config)

    async def call(self, invocation: Invocation) -> Answer:
        raise self._refusal(invocation)

    def preview(self, invocation: Invocation) -> dict[str, Any]:
        raise self._refusal(invocation)

    def _refusal(self, invocation: Invocation) -> RefusedError:
        vendor = self.hosted.vendor
        return RefusedError(
            f"`{invocation.tool}` runs at {vendor}, and cannot be called here",
            code="unsupported",
            hint=f"it is in requests to {vendor}: `toolrt schema --dialect` shows them",
        )


def bind(spec: ProviderSpec, context: BindContext) -> Binding:
    if context.input_schema.get("properties"):
        message = "the vendor says what its tool takes: it has no parameters here"
        context.fault("no-effect", message, "/", "parameters", on_key=True)
    if "type" in spec.config:
        message = "`type` of the tool says this already"
        context.fault("no-effect", message, "config", "type", on_key=True)
    return AtVendor(spec)


def describe(spec: ProviderSpec, _context: BindContext) -> Described:
    return Described(_NO_PARAMETERS, f"{spec.type.replace('_', ' ')}, run by {spec.vendor}")


def effect(_spec: ProviderSpec) -> Effect:
    return "read"


KIND = Kind(name="provider", spec=ProviderSpec, bind=bind, describe=describe, effect=effect)
