"""`toolrt doctor`: what works on this machine, and what keeps a tool from working."""

import os
import platform
import re
import resource
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from tempfile import TemporaryFile, gettempdir
from typing import Literal

import click

from toolrt import __version__
from toolrt.core.results import SCHEMA
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.cli.table import aligned, count
from toolrt.faces.exits import Exit, Stop
from toolrt.faces.output import Screen, one_line

EXAMPLES = (
    ("toolrt doctor", "what works here"),
    ("toolrt doctor -o json", "the same for a bug report"),
)

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_FEWEST_FILES = 1024
_COLORS = {"ok": "green", "missing": "yellow", "broken": "red"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that works, that is missing for some tools, or without which nothing works."""

    name: str
    status: Literal["ok", "missing", "broken"]
    detail: str


@click.command("doctor", cls=Verb, examples=EXAMPLES)
@click.pass_obj
def verb(settings: Settings) -> Exit:
    """Say what works here: Python, packages, what the system offers, the project, each tool.

    Ends with 0 unless something is broken.
    """
    findings = [*_machine(), *_project(settings)]
    is_broken = any(finding.status == "broken" for finding in findings)
    document = {
        "schema": SCHEMA,
        "ok": not is_broken,
        "findings": [asdict(finding) for finding in findings],
    }
    rows = [asdict(finding) for finding in findings]
    settings.screen.show(document, lambda: _text(findings, settings.screen), rows)
    return Exit.TOOL_FAILED if is_broken else Exit.OK


def _machine() -> Iterator[Finding]:
    yield Finding("toolrt", "ok", __version__)
    yield _python()
    yield from (_package(name) for name in _needed())
    yield _program("bash", "tools of kind shell")
    yield _ability(
        "pidfd", hasattr(os, "pidfd_open") and _has_pidfd(), "ends of processes by polling"
    )
    yield _ability("prlimit", hasattr(resource, "prlimit"), "no limits on processes")
    yield from _sandboxes()
    yield _open_files()
    yield _temporary_files()


def _python() -> Finding:
    where = f"{platform.python_version()} at {sys.executable}"
    return Finding("python", "ok" if sys.version_info >= (3, 11) else "broken", where)


def _needed() -> list[str]:
    """The packages that toolrt cannot do without, as its own metadata lists them."""
    try:
        listed = requires("toolrt") or []
    except PackageNotFoundError:
        return []
    return [found[0] for line in listed if "extra ==" not in line if (found := _NAME.match(line))]


def _package(name: str) -> Finding:
    try:
        return Finding(name, "ok", version(name))
    except PackageNotFoundError:
        return Finding(name, "broken", "not installed; pip install toolrt brings it")


def _program(name: str, needed_by: str) -> Finding:
    found = shutil.which(name)
    if found:
        return Finding(name, "ok", found)
    return Finding(name, "missing", f"not on PATH; needed by {needed_by}")


def _ability(name: str, works: bool, otherwise: str) -> Finding:
    return Finding(name, "ok", "works") if works else Finding(name, "missing", otherwise)


def _has_pidfd() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


def _sandboxes() -> Iterator[Finding]:
    from toolrt.bindings.bubblewrap import Needs, program  # noqa: PLC0415 - `--help` needs none

    kinds = {
        "sandbox": Needs(network=False, write=False),
        "sandbox, network: true": Needs(network=True, write=False),
        "sandbox, write": Needs(network=False, write=True),
    }
    for name, needs in kinds.items():
        found = program(needs)
        if found.path:
            yield Finding(name, "ok", found.path)
        else:
            yield Finding(name, "missing", f"{found.why}: {found.detail}")


def _open_files() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    status: Literal["ok", "missing"] = "ok" if soft >= _FEWEST_FILES else "missing"
    return Finding("open files", status, f"{soft} at once, {hard} if raised")


def _temporary_files() -> Finding:
    try:
        with TemporaryFile():
            return Finding("temporary files", "ok", gettempdir())
    except OSError:
        lacks = "no folder can be written; needed by tools of kind command and shell: name one"
        return Finding("temporary files", "missing", f"{lacks} in TMPDIR")


def _project(settings: Settings) -> Iterator[Finding]:
    from toolrt import runtime  # noqa: PLC0415 - `--help` loads no runtime

    try:
        root = settings.project()
    except Stop as stop:
        yield Finding("project", "missing", f"{stop.message}; try: {stop.next}")
        return
    loaded = runtime.load(root)
    yield Finding("project", "ok", str(root))
    if loaded.snapshot is None:
        errors = sum(one.severity == "error" for one in loaded.diagnostics)
        said = f"{count(errors, 'error')}; try: {settings.command('check')}"
        yield Finding("manifests", "broken", said)
        return
    tools = loaded.snapshot.tools
    files = len({tool.file for tool in tools.values()})
    yield Finding("manifests", "ok", f"{count(len(tools), 'tool')} in {count(files, 'file')}")
    for tool in tools.values():
        status: Literal["ok", "missing"] = "missing" if tool.unavailable else "ok"
        yield Finding(tool.name, status, tool.unavailable or f"{tool.kind}, {tool.effect}")


def _text(findings: list[Finding], screen: Screen) -> str:
    rows = [[one.status, one.name, one_line(one.detail)] for one in findings]
    lines = zip(findings, aligned(rows), strict=True)
    return "\n".join(
        screen.paint(one.status, fg=_COLORS[one.status]) + line.removeprefix(one.status)
        for one, line in lines
    )
