"""An http tool bound without a project around it, for the tests of the kind."""

import time
from pathlib import Path
from typing import Any

from toolrt.bindings.base import BindContext, Services
from toolrt.bindings.http import KIND
from toolrt.bindings.network import Network
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import SystemClock
from toolrt.expressions.references import References
from toolrt.expressions.templates import KNOWN_KEYS, Names
from toolrt.manifest.longform import long_http
from toolrt.manifest.parameters import Parameters
from toolrt.manifest.target import Target


class HttpTool:
    """A bound tool: `faults`, `unavailable`, and calls of it."""

    def __init__(
        self,
        options: Any,
        parameters: dict[str, Any] | None = None,
        *,
        targets: dict[str, Any] | None = None,
        bound: dict[str, str] | None = None,
        environ: dict[str, str] | None = None,
        caller: Caller | None = None,
        project: Path = Path(),
        resolve: Any = None,
        **context: Any,
    ) -> None:
        self.services = Services(project)
        self.services.put(Network, Network(resolve))
        self.references = References(project, environ or {}, context.pop("secrets", ("env",)))
        self.caller = caller or Caller(principal="ada", tenant="acme")
        declared = _declared(parameters or {}, bound or {})
        self.context = BindContext(
            tool="t.tool",
            project=project,
            services=self.services,
            references=self.references,
            input_schema=declared.schema,
            visible=declared.visible,
            names=Names(
                declared.names, declared.optional, known_keys={**KNOWN_KEYS, "vars": {"region"}}
            ),
            targets={k: Target.model_validate(v) for k, v in (targets or {}).items()},
            vars={"region": "eu"},
            **context,
        )
        self.spec = KIND.spec.model_validate(long_http(options))
        self.binding = KIND.bind(self.spec, self.context)
        self.invocation = self.invoke({})

    @property
    def faults(self) -> list[tuple[str, tuple[Any, ...]]]:
        return [(fault.code, fault.path) for fault in self.context.faults]

    @property
    def unavailable(self) -> str | None:
        return self.context.unavailable

    def invoke(self, arguments: dict[str, Any]) -> Invocation:
        now = time.monotonic()
        return Invocation("call-1", "t.tool", arguments, self.caller, SystemClock(), now, now + 30)

    async def call(self, **arguments: Any) -> Any:
        """The whole answer; the connections are closed after it."""
        assert [each for each in self.context.faults if each.severity == "error"] == []
        self.invocation = self.invoke(arguments)
        try:
            return await self.binding.call(self.invocation)
        finally:
            await self.services.close()
            self.services.put(Network, Network())

    def preview(self, **arguments: Any) -> dict[str, Any]:
        return self.binding.preview(self.invoke(arguments))


def _declared(parameters: dict[str, Any], bound: dict[str, str]) -> Parameters:
    """Every parameter is required, unless its schema is a pair with `None`: `(schema, None)`."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, schema in {**parameters, **dict.fromkeys(bound, "string")}.items():
        is_optional = isinstance(schema, tuple)
        shape = schema[0] if is_optional else schema
        properties[name] = {"type": shape} if isinstance(shape, str) else shape
        if not is_optional:
            required.append(name)
    schema = {"type": "object", "properties": properties, "required": required}
    return Parameters(schema, bound=bound)


def optional(schema: Any) -> tuple[Any, None]:
    """A parameter that may be absent."""
    return (schema, None)
