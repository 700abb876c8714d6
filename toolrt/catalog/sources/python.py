"""The origin `python`: an object, a class, a function or a module of Python, whose callables are
tools; named in a file, or given alive by a program.
"""

from dataclasses import replace
from typing import Any

from toolrt.bindings.base import BindContext
from toolrt.bindings.python import init_of
from toolrt.bindings.python_imports import import_from, looking_at, module_from
from toolrt.bindings.python_live import Lives
from toolrt.catalog.sources.base import Yielded
from toolrt.catalog.sources.shapes import tools_of
from toolrt.catalog.sources.subjects import Subject
from toolrt.catalog.workshop import Workshop
from toolrt.core.faults import Fault, FaultError
from toolrt.loading.sources import Given, WrittenSource
from toolrt.manifest.source import PythonSource


def yielded(source: WrittenSource, workshop: Workshop) -> Yielded:
    """The tools of a Python object; where none may be imported, nobody knows them."""
    options = source.source.python
    if options is None or not (workshop.imports or _alive(source)):
        return Yielded(unavailable="it was loaded without imports")
    context = workshop.context(f"source {source.name}")
    project = workshop.files.root
    try:
        with looking_at(options.object, project):
            made = _named(tools_of(_subject(source, options, workshop, context)), source)
    except FaultError as error:
        return Yielded(faults=tuple(fault.under("python") for fault in _placed(error)))
    faults = [fault.under("python") for fault in (*context.faults, *made.faults)]
    return Yielded(made.tools, made.more, faults, made.unavailable)


def _placed(error: FaultError) -> tuple[Fault, ...]:
    """What was found about no key in particular is about the object."""
    return tuple(each if each.path else each.moved(("object",)) for each in error.faults)


def _subject(
    source: WrittenSource, options: PythonSource, workshop: Workshop, context: BindContext
) -> Subject:
    found = _found(source, options, workshop)
    if options.init and not isinstance(found, type):
        message = "`init` makes an object of a class, and `object` names none"
        raise FaultError(Fault("signature-drift", message, ("init",), on_key=True))
    given = _alive(source)
    address = given.address if given else options.object
    return Subject(
        found,
        options.object,
        workshop.services.share(Lives),
        workshop.files.root,
        address=address,
        name=None if given else options.object.rpartition(":")[2].rpartition(".")[2],
        select=options.select,
        init=options.init,
        make=init_of(options.init, context),
        around=repr(workshop.files.project.vars) if options.init else None,
        has_include=bool(source.source.include),
    )


def _alive(source: WrittenSource) -> Given | None:
    """What a program has handed in as it is."""
    return source.given if source.given is not None and source.given.is_alive else None


def _named(made: Yielded, source: WrittenSource) -> Yielded:
    """The tool of a source that is one tool bears the name that it was added under."""
    if source.namespace is not None or len(made.tools) != 1:
        return made
    return replace(made, tools=[replace(made.tools[0], name=source.name)])


def _found(source: WrittenSource, options: PythonSource, workshop: Workshop) -> Any:
    given = _alive(source)
    if given is not None:
        return given.found
    project = workshop.files.root
    if ":" in options.object:
        return import_from(project, options.object)
    return module_from(project, options.object)
