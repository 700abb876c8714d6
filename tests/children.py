"""Commands and scripts bound by themselves, for tests of their bindings."""

from dataclasses import dataclass

from toolrt.bindings.base import BindContext, Services, kind
from toolrt.bindings.paths import compile_path_rules
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import SystemClock
from toolrt.expressions.references import References
from toolrt.expressions.templates import Names
from toolrt.manifest.project import ProjectFile


@dataclass
class Bound:
    """A binding and what it reported; arguments are taken as checked."""

    context: BindContext
    binding: object

    @property
    def faults(self):
        return [(fault.code, fault.path, fault.severity) for fault in self.context.faults]

    def invocation(self, arguments):
        arguments = dict(arguments)
        rules = compile_path_rules(self.context.input_schema, self.context.project)
        if rules is not None:
            rules.apply(arguments)
        clock = SystemClock()
        now = clock.monotonic()
        return Invocation("c1", "t", arguments, Caller("-rf"), clock, now, now + 30)

    async def call(self, **arguments):
        return await self.binding.call(self.invocation(arguments))

    async def value(self, **arguments):
        return (await self.call(**arguments)).value

    def argv(self, **arguments):
        return self.binding.preview(self.invocation(arguments))["argv"]


class Workbench:
    """Binds tools in one project; `close` ends what they share."""

    def __init__(self, project, environ=None):
        self.project = project
        self.services = Services(project)
        self.references = References(project, environ or {})

    async def close(self):
        await self.services.close()

    def bind(self, name, raw, settings=None, **properties):
        optional = {n for n, schema in properties.items() if schema.pop("required", True) is False}
        context = BindContext(
            tool="t",
            project=self.project,
            services=self.services,
            references=self.references,
            input_schema={"type": "object", "properties": properties},
            visible=frozenset(properties),
            names=Names(frozenset(properties), frozenset(optional)),
            targets={},
            settings=settings or ProjectFile(),
            vars={"place": "here", "flags": ["-a", "-b"], "nothing": ""},
        )
        chosen = kind(name)
        return Bound(context, chosen.bind(chosen.spec.model_validate(raw), context))

    def command(self, *argv, options=None, **properties):
        return self.bind("command", {"argv": list(argv), **(options or {})}, **properties)

    def shell(self, script, options=None, **properties):
        return self.bind("shell", {"script": script, **(options or {})}, **properties)
