"""Projects with Python callables, and tools bound to them."""

import time
from textwrap import dedent

from toolrt.bindings.base import BindContext, Services
from toolrt.bindings.python import KIND, PythonSpec
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import SystemClock
from toolrt.expressions.references import References
from toolrt.expressions.templates import Names


class Tool:
    """One bound tool, and what was said while it was bound."""

    def __init__(self, context, described, binding):
        self.context = context
        self.described = described
        self.binding = binding

    @property
    def faults(self):
        return [(fault.code, fault.path) for fault in self.context.faults]

    @property
    def fault(self):
        (only,) = self.context.faults
        return only

    def invocation(self, on_progress=None, **arguments):
        now = time.monotonic()
        caller = Caller("ann", ("ops",), "acme")
        made = Invocation("c1", "kit.t", arguments, caller, SystemClock(), now, now + 30)
        made.on_progress = on_progress
        return made

    async def value(self, **arguments):
        return (await self.binding.call(self.invocation(**arguments))).value


class Project:
    """A folder with Python modules; `close` ends what its tools share."""

    def __init__(self, folder, environ=None, **variables):
        self.folder = folder
        self.services = Services(folder)
        self.references = References(folder, environ or {})
        self.vars = variables

    def write(self, module, source):
        path = self.folder / f"{module}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(source), encoding="utf-8")

    def bind(self, call=None, properties=None, required=(), *, imports=True, **options):
        """A tool; `properties` are those that the manifest writes, if it writes any."""
        spec = PythonSpec(call=call, **options)
        schema = {"type": "object", "properties": properties or {}, "required": list(required)}
        context = BindContext(
            tool="kit.t",
            project=self.folder,
            services=self.services,
            references=self.references,
            input_schema=schema,
            visible=frozenset(),
            names=Names(),
            targets={},
            vars=self.vars,
            written_parameters=properties is not None,
            imports=imports,
        )
        described = None
        if properties is None and imports:
            described = KIND.describe(spec, context)
            context.input_schema = described.input_schema
            if any(fault.severity == "error" for fault in context.faults):
                return Tool(context, described, None)
        return Tool(context, described, KIND.bind(spec, context))

    async def close(self):
        await self.services.close()
