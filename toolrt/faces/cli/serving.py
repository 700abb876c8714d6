"""What `toolrt serve` does: settles where to listen, takes the port, opens the project, serves."""

import asyncio
import gc
import os
import secrets
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import uvloop

from toolrt import runtime
from toolrt.core.hosts import reached
from toolrt.core.results import SCHEMA
from toolrt.faces.cli.caller import at_terminal, locked_out
from toolrt.faces.cli.findings import tell_weak
from toolrt.faces.cli.names import broken
from toolrt.faces.cli.options import Misuse
from toolrt.faces.cli.table import count
from toolrt.faces.cli.watch import tell_reload
from toolrt.faces.exits import Exit, Stop
from toolrt.faces.http.access import Access, Starting
from toolrt.faces.http.keyfile import Running, kept, path_of
from toolrt.faces.http.mates import Mates, besides
from toolrt.faces.http.serving import bound, serve
from toolrt.faces.http.site import Site
from toolrt.loading.loader import load_files
from toolrt.loading.stock import Stock
from toolrt.manifest.project import ProjectFile, Serve, is_public_url
from toolrt.schemas.phrases import visible
from toolrt.state import DEFAULT_STATE
from toolrt.stores.base import StoreError

if TYPE_CHECKING:
    from toolrt.catalog.snapshot import Snapshot
    from toolrt.faces.cli.options import Settings
    from toolrt.faces.output import Screen
    from toolrt.opened import Runtime

OnStart = Callable[[Site], None]
"""Is told once the port is open."""

_DRAIN_S: Final = 30.0


class Beside(NamedTuple):
    """What a worker has beside the port: a socket of its own, and those of the others."""

    own: socket.socket
    mates: Mates


@dataclass(frozen=True, slots=True)
class Plan:
    """Where and how to serve, once flags, environment and toolrt.yaml are laid over each other."""

    root: Path
    host: str
    port: int
    public_url: str | None
    is_local: bool
    workers: int
    drain_s: float
    watch: bool
    allow_foreign_config: bool
    state_folder: Path

    @classmethod
    def of(
        cls,
        settings: "Settings",
        *,
        host: str | None,
        port: int | None,
        public_url: str | None,
        workers: int,
        drain: float | None,
        no_watch: bool,
        allow_foreign_config: bool,
    ) -> "Plan":
        """Raises Misuse for an address that is none, and Stop where others could call whom nobody
        asks who they are.
        """
        root = settings.project()
        written = load_files(Stock(root)).project
        serve_ = written.serve or Serve()
        if public_url and not is_public_url(public_url):
            hint = "give https://host, without a path"
            raise Misuse(f"`--public-url` cannot be `{visible(public_url)}`", hint=hint)
        host = host or serve_.host
        public_url = (public_url or serve_.public_url or "").rstrip("/") or None
        others = reached(host, public_url, serve_.hosts)
        if others is not None and not written.knows_callers:
            raise _nobody_asks(others, settings)
        return cls(
            root=root,
            host=host,
            port=serve_.port if port is None else port,
            public_url=public_url,
            is_local=others is None,
            workers=workers,
            drain_s=_DRAIN_S if drain is None else drain,
            watch=not no_watch,
            allow_foreign_config=allow_foreign_config,
            state_folder=(root / (written.state or DEFAULT_STATE)).parent,
        )


@dataclass(frozen=True, slots=True)
class Opened:
    """A port that was taken, and what is made anew for each start."""

    plan: Plan
    listening: socket.socket
    key: str
    secret: bytes

    @property
    def port(self) -> int:
        number: int = self.listening.getsockname()[1]
        return number

    @property
    def local_url(self) -> str:
        """The address on this machine."""
        host = self.plan.host
        name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104 - as they are written
        shown = f"[{name}]" if ":" in name and not name.startswith("[") else name
        return f"http://{shown}:{self.port}"

    @property
    def url(self) -> str:
        """The address by which people reach it."""
        return self.plan.public_url or self.local_url


def host(plan: Plan, settings: "Settings") -> Exit:
    """Serve until somebody ends it."""
    key, secret = secrets.token_urlsafe(32), secrets.token_bytes(32)
    opened = Opened(plan, _taken(plan, settings), key, secret)
    path = path_of(plan.state_folder, opened.port)
    running = Running(opened.local_url, opened.key, os.getpid())
    with opened.listening, kept(path, running) as is_kept:

        def tell(site: Site) -> None:
            _tell_start(opened, site.runtime, path if is_kept else None, settings)

        if plan.workers == 1:
            return _run(opened, settings, tell)
        return _keep(opened, settings, tell)


def _run(
    opened: Opened, settings: "Settings", on_start: OnStart, beside: Beside | None = None
) -> Exit:
    """Open the project in this process and serve it."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_served(opened, settings, on_start, beside))


def _keep(opened: Opened, settings: "Settings", tell: OnStart) -> Exit:
    """Let several processes do so; the first one tells of the start, and of reloads."""
    from toolrt.faces.cli.main import ending  # noqa: PLC0415 - it has this verb in its table
    from toolrt.faces.cli.workers import READY, Keeper, joined  # noqa: PLC0415 - most have one process

    with ExitStack() as made:
        sockets = _sockets(made, opened.plan, settings)
        paths = tuple(each.getsockname() for each in sockets)

        def work(number: int, line: socket.socket) -> int:
            def started(site: Site) -> None:
                joined(site, line)
                line.send(READY)
                if number == 0:
                    tell(site)

            quiet = settings if number == 0 else replace(settings, screen=_silent(settings.screen))
            beside = Beside(sockets[number], Mates(number, paths))
            return ending(lambda: _run(opened, quiet, started, beside), sys.argv[1:])

        return Exit(Keeper(work, opened.plan.workers).run())


def _sockets(made: ExitStack, plan: Plan, settings: "Settings") -> list[socket.socket]:
    """Those of the workers. Raises Stop where they are not to be had."""
    try:
        return made.enter_context(besides(plan.workers))
    except OSError as error:
        raise Stop(
            Exit.TOOL_FAILED,
            f"workers cannot have sockets of their own: {(error.strerror or str(error)).lower()}",
            code="unavailable",
            hint="TMPDIR names a folder for them, with a short path",
            next_=settings.command("serve --workers 1"),
        ) from error


def _silent(screen: "Screen") -> "Screen":
    """The same, for a process that repeats what another one tells."""
    return replace(screen, is_quiet=True)


async def _served(
    opened: Opened, settings: "Settings", on_start: OnStart, beside: Beside | None
) -> Exit:
    plan = opened.plan
    own, mates = (None, None) if beside is None else beside
    try:
        async with runtime.open(
            plan.root, watch=plan.watch, allow_foreign_config=plan.allow_foreign_config
        ) as project:
            starting = Starting(plan.is_local, opened.key, at_terminal, plan.host, opened.url)
            site = Site(project, Access(project, starting), opened.secret, mates=mates)
            _tell_reloads(project, settings)
            await _tell_store(project, settings)
            start = partial(_begun, site, on_start)
            await serve(site, opened.listening, plan.drain_s, start, own)
    except runtime.BrokenProjectError as error:
        raise broken(error.compiled, settings) from error
    return Exit.OK


async def _tell_store(project: "Runtime", settings: "Settings") -> None:
    """Say what is wrong with the store, before anybody asks for what needs it."""
    try:
        await project.check_store()
    except StoreError as error:
        hint = f"; {error.hint}" if error.hint else ""
        settings.screen.complain(f"warning: the store cannot be used: {error}{hint}")
        settings.screen.complain("  no question is kept, and /readyz says 503 until that is mended")


def _begun(site: Site, on_start: OnStart) -> None:
    """What is there by now stays: looking through it for garbage would hold up calls."""
    gc.collect()
    gc.freeze()
    on_start(site)


def _tell_reloads(project: "Runtime", settings: "Settings") -> None:
    told = tell_weak(project, settings)

    def tell(outcome: Any) -> None:
        nonlocal told
        tell_reload(outcome, settings)
        if outcome.is_new:
            told = tell_weak(project, settings, told)

    project.on_reload(tell)


def _taken(plan: Plan, settings: "Settings") -> socket.socket:
    """The port. Raises Stop where it is not to be had."""
    try:
        return bound(plan.host.strip("[]"), plan.port)
    except OSError as error:
        raise Stop(
            Exit.TOOL_FAILED,
            f"cannot listen at {plan.host}:{plan.port}: {(error.strerror or str(error)).lower()}",
            code="unavailable",
            hint="another port may be free: --port 0 takes any",
            next_=settings.command("serve --port 0"),
        ) from error


def _nobody_asks(where: str, settings: "Settings") -> Stop:
    return Stop(
        Exit.USAGE,
        f"others can reach {where}, and no identity says who they are",
        code="no-credentials",
        hint="write `identities` with a `token_hash`, or `serve: {auth: {jwt: …}}`",
        next_=settings.command("serve --host 127.0.0.1"),
    )


def _tell_start(
    opened: Opened, project: "Runtime", key_file: Path | None, settings: "Settings"
) -> None:
    """The one line of a start; as a document it has the same."""
    tools = count(len(project.snapshot.tools), "tool")
    document = {
        "schema": SCHEMA,
        "url": opened.url,
        "port": opened.port,
        "pid": os.getpid(),
        "tools": len(project.snapshot.tools),
        "generation": project.snapshot.generation,
        "workers": opened.plan.workers,
        "key_file": None if key_file is None else str(key_file),
    }
    whose = f"; its key: {key_file}" if key_file is not None else ""
    settings.screen.show(
        document,
        lambda: f"serving {tools} at {opened.url} (MCP /mcp, REST /v1, people /approvals){whose}",
    )
    notes = notes_of(opened.plan, opened.local_url, project.written)
    for note in (*notes, *foreign_notes(project.snapshot)):
        settings.screen.say(f"note: {note}")


def foreign_notes(snapshot: "Snapshot") -> Iterator[str]:
    """That tools are among them which servers of others describe and run."""
    tools = snapshot.tools.values()
    sources = sorted({each.source for each in tools if each.is_foreign and each.kind == "mcp"})
    if sources:
        yield (
            f"tools of {', '.join(sources)} are described and run by servers of others; "
            "`toolrt pins list` shows what is approved"
        )


def notes_of(plan: Plan, url: str, written: ProjectFile) -> Iterator[str]:
    """What is right as it is written, and may not be what was meant."""
    auth = written.serve.auth if written.serve is not None else None
    if not plan.is_local and plan.public_url is None:
        yield f"people get links to {url}; `public_url` says where others reach it"
    if plan.is_local and written.identities and not (auth is not None and auth.required):
        yield (
            "anybody on this machine may call as `anonymous`; "
            "`serve: {auth: {required: true}}` asks who they are"
        )
    if (locked := locked_out(written.identities)) is not None:
        yield locked


def project_of(root: Path) -> ProjectFile:
    """toolrt.yaml as it is written now."""
    return load_files(Stock(root)).project
