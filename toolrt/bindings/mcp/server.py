"""A server as a source names it: compiled once, and what its connection is known by.

The command of one is judged here, its program is found, its variables and headers become templates.
A server is the same as long as its key is: a reload that changes nothing of it leaves the
connection alone.
"""

import os
import re
import shutil
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pydantic_core import to_json

from toolrt.bindings.base import BindContext
from toolrt.bindings.http_target import Service, compile_target
from toolrt.bindings.mcp.gate import base_name, refusal
from toolrt.bindings.mcp.gate_options import ALLOWED, is_steering
from toolrt.bindings.network import Client, Endpoint, Network
from toolrt.bindings.os_text import is_system_text
from toolrt.bindings.programs import FIXED_PATH
from toolrt.expressions.references import Reference, References
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.expressions.slots import ENV
from toolrt.expressions.templates import Template
from toolrt.manifest.source import McpSource
from toolrt.manifest.target import Target

_INHERITED: Final = ("HOME", "LANG", "LC_ALL", "LOGNAME", "TERM", "TMPDIR", "TZ", "USER")
"""What a server gets of our own environment beside PATH: nothing that holds a credential."""
_FOLDERS: Final = frozenset({"PATH", "HOME"})
_CONNECT_S: Final = 30.0
"""A package that is fetched before it runs takes its time; a written `connect` is kept as it is."""
_ATTEMPT_S: Final = 30.0
_TOTAL_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Launch:
    """How a server is started: its words, its program, its whole environment but for secrets."""

    argv: tuple[str, ...]
    executable: str
    base: Mapping[str, str]
    env: Mapping[str, Template | None]
    cwd: Path

    def environ(self, scope: Scope) -> dict[str, str]:
        """Every variable of the server. Raises CallError for a secret that is not there."""
        made = dict(self.base)
        for name, template in self.env.items():
            text = None if template is None else template.text(scope)
            if text is None or text is ABSENT:
                made.pop(name, None)
            else:
                made[name] = str(text)
        return made


@dataclass(frozen=True, slots=True)
class Web:
    """Where a server is reached, and how it knows us."""

    service: Service
    query: str
    client: Client
    connect_s: float


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to be there and have agreed on a version, for one answer, for a whole discovery."""

    connect_s: float = _CONNECT_S
    attempt_s: float = _ATTEMPT_S
    total_s: float = _TOTAL_S


@dataclass(frozen=True, eq=False, slots=True)
class Server:
    """One server. `endpoint` is what a pin is about; `lacks` says why it cannot be tried at all."""

    name: str
    key: Hashable
    endpoint: Mapping[str, Any]
    timeouts: Timeouts
    launch: Launch | None = None
    web: Web | None = None
    needed: tuple[Reference, ...] = ()
    references: References | None = None
    vars: Mapping[str, Any] = field(default_factory=dict)
    lacks: str | None = None

    def scope(self) -> Scope:
        """What templates of a connection may read: constants and references, nothing of callers."""
        return Scope(vars=self.vars, references=self.references)

    async def prepared(self) -> Scope:
        """The same once every reference is at hand."""
        if self.needed and self.references is not None:
            await self.references.prepare(self.needed)
        return self.scope()

    @property
    def uses(self) -> frozenset[object]:
        """What its connection needs of the things that are shared."""
        pools = self.web.client.uses if self.web is not None else frozenset()
        return frozenset({self.key, *pools})


def compile_server(name: str, source: McpSource, context: BindContext) -> Server | None:
    """The server of a source, or None with faults, whose paths begin at the options of `mcp`."""
    before = len(context.faults)
    launch = _launch(source, context) if source.command else None
    web = None if source.command else _web(name, source, context)
    _refuse_callers(context)
    if any(fault.severity == "error" for fault in context.faults[before:]):
        return None
    endpoint: dict[str, Any] = (
        {"command": list(launch.argv)} if launch else {"url": _shown(source, context)}
    )
    written = to_json([source.model_dump(mode="json"), endpoint, _target(source, context)])
    return Server(
        name=name,
        key=("mcp", name, sha256(written).hexdigest()),
        endpoint=endpoint,
        timeouts=_timeouts(source, web),
        launch=launch,
        web=web,
        needed=context.used_references,
        references=context.references,
        vars=context.vars,
        lacks=context.unavailable,
    )


def _launch(source: McpSource, context: BindContext) -> Launch | None:
    argv = tuple(source.command or ())
    for number, word in enumerate(argv):
        if "{{" in word or "${" in word or not is_system_text(word):
            message = "a command is constant text"
            hint = "put values under `env`; others of this machine can read the arguments"
            context.fault("value-in-command", message, "command", number, hint=hint)
            return None
    refused = refusal(argv)
    if refused is not None:
        place = ("command", refused.at)
        context.fault("refused-command", refused.message, *place, hint=refused.hint)
        return None
    base = _base(context.references.environ)
    _check_variables(source.env, context)
    env = {
        key: None if text is None else context.template(text, ("env", key), ENV)
        for key, text in source.env.items()
    }
    executable = _found(argv[0], base["PATH"], context)
    _check_links(argv, executable, context)
    return Launch(argv, executable, base, env, context.project.absolute())


def _check_variables(env: Mapping[str, str | None], context: BindContext) -> None:
    """Refuse variables that decide which code runs, and a PATH or HOME that leads into the project
    or depends on where one stands.
    """
    for name, text in env.items():
        if is_steering(name):
            message = f"`{name}` makes a program run other code before its own"
            hint = "let the server itself do it, in a file of the project"
            context.fault("refused-command", message, "env", name, on_key=True, hint=hint)
        if name.upper() in _FOLDERS and not _leads_outside(text or "", context.project):
            message = f"`{name}` would let files of the project stand in for other programs"
            hint = "name absolute folders outside of the project"
            context.fault("refused-command", message, "env", name, hint=hint)


def _leads_outside(text: str, project: Path) -> bool:
    """Whether all folders of a list are absolute and outside; what a reference gives is trusted."""
    root = os.path.realpath(project)
    folders = re.sub(r"\$\{[^}]*\}", "", text).split(os.pathsep)
    places = [os.path.realpath(each) for each in folders if each]
    is_absolute = all(each.startswith("/") for each in folders if each)
    return is_absolute and not any(Path(each).is_relative_to(root) for each in places)


def _base(ours: Mapping[str, str]) -> dict[str, str]:
    """PATH and the basics; folders of PATH that are not absolute depend on where one stands."""
    folders = [each for each in ours.get("PATH", "").split(os.pathsep) if each.startswith("/")]
    path = os.pathsep.join(folders) or FIXED_PATH
    return {"PATH": path, **{name: ours[name] for name in _INHERITED if name in ours}}


def _found(program: str, path: str, context: BindContext) -> str:
    """The absolute path of the program; a reason not to be called where there is none."""
    found: str | None
    if "/" not in program:
        found = shutil.which(program, path=path)
    elif program.startswith("/"):
        found = _anywhere(program, context)
    else:
        found = _in_project(program, context)
    if found is None:
        context.lacks(f"program `{program}` was not found or is not executable", "command", 0)
    return found or program


def _check_links(argv: tuple[str, ...], found: str, context: BindContext) -> None:
    """A file of the project that is a link to somewhere else is what stands there."""
    project = context.project.absolute()
    real, root = os.path.realpath(found), os.path.realpath(project)
    if not _is_inside(found, project) or Path(real).is_relative_to(root):
        return
    refused = refusal((real, *argv[1:]))
    if refused is None and base_name(real) in ALLOWED:
        return
    message = f"`{argv[0]}` is a link to `{real}`, which may not start a server this way"
    context.fault("refused-command", message, "command", 0, hint="put the program itself there")


def _anywhere(program: str, context: BindContext) -> str | None:
    """An absolute path: one of the known programs, or a file of the project."""
    if base_name(program) not in ALLOWED and not _is_inside(program, context.project.absolute()):
        message = f"`{program}` is not among the programs that may start a server"
        hint = "a program of your own is `./x` in the project"
        context.fault("refused-command", message, "command", 0, hint=hint)
        return None
    return shutil.which(program)


def _is_inside(program: str, project: Path) -> bool:
    return ".." not in program.split("/") and Path(program).is_relative_to(project)


def _in_project(program: str, context: BindContext) -> str | None:
    if not program.startswith("./") or ".." in program.split("/"):
        message = f"`{program}` is no program of this project"
        context.fault("refused-command", message, "command", 0, hint="write `./x`")
        return None
    return shutil.which(str(context.project.absolute() / program[2:]))


def _web(name: str, source: McpSource, context: BindContext) -> Web | None:
    if source.env:
        message = "a server that is reached by a URL has no environment of ours"
        context.fault(
            "no-effect", message, "env", on_key=True, hint="declare `headers` on a target"
        )
    target, query = _described(source, context)
    if target is None:
        return None
    service = compile_target(target, context, name)
    if service is None:
        return None
    written = source.timeout if source.timeout and _has(source, "connect") else None
    connect_s = written.connect if written else target.timeout or 5.0
    endpoint = Endpoint(service.origin, service.guard, connect_s, tls=service.tls)
    network = context.services.share(Network)
    return Web(service, query, Client(network, endpoint), connect_s)


def _described(source: McpSource, context: BindContext) -> tuple[Target | None, str]:
    """The service, and the constant query that follows its path."""
    if source.target is not None:
        known = context.targets.get(source.target)
        if known is None:
            message = f"there is no target `{source.target}`"
            context.fault("unknown-target", message, "target", hint="declare it under `targets`")
        return known, ""
    url, _, query = (source.url or "").partition("?")
    if "{" in query:
        hint = "declare a target with `auth: {api_key: {query: …}}`"
        context.fault(
            "value-in-host", "the query of a server's `url` is constant", "url", hint=hint
        )
        return None, ""
    return Target(url=url), query


def _target(source: McpSource, context: BindContext) -> Any:
    known = context.targets.get(source.target) if source.target else None
    return known.model_dump(mode="json") if known else None


def _shown(source: McpSource, context: BindContext) -> str:
    """The URL as it is written, for pins; its query may hold what is secret."""
    known = context.targets.get(source.target) if source.target else None
    return known.url if known else (source.url or "").partition("?")[0]


def _timeouts(source: McpSource, web: Web | None) -> Timeouts:
    written = source.timeout
    if written is None:
        return Timeouts() if web is None else Timeouts(connect_s=web.connect_s + 5.0)
    total = written.total
    attempt = written.attempt if _has(source, "attempt") else min(_ATTEMPT_S, total)
    connect = written.connect if _has(source, "connect") else min(_CONNECT_S, total)
    return Timeouts(connect, attempt, total)


def _has(source: McpSource, key: str) -> bool:
    return source.timeout is not None and key in source.timeout.model_fields_set


def _refuse_callers(context: BindContext) -> None:
    """One connection serves all callers, so nothing of one of them may open it."""
    for reference in context.used_references:
        if reference.kind in {"caller", "tenant"}:
            message = "all callers share the connection to a server: none of them can open it"
            hint = "use `${secret:name}`, a credential of the project"
            context.fault("caller-in-connection", message, hint=hint)
            return
