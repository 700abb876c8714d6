"""Dotted names to Python objects, and what to say when there is none.

`pkg.mod:attr.attr` is imported from the project's folder first. Whoever imports goes through here:
one place changes `sys.path`, and one place turns what goes wrong into a fault.
"""

import importlib
import pkgutil
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolrt.bindings.python_errors import message_of
from toolrt.core.faults import Fault, FaultError
from toolrt.core.names import did_you_mean

DOTTED = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"

_PACKAGE = Path(__file__).parents[1]
_OWNERS: dict[str, Path] = {}
"""Top-level module -> the project that it was last imported from."""


def import_from(project: Path, dotted: str) -> Any:
    """The object named `pkg.mod:attr.attr`, modules of the project first.

    Raises FaultError (import-failed) with the true cause: no such module, no such attribute, or
    what the module's own code raised, and where in the project.
    """
    if not re.match(DOTTED, dotted):
        raise _failed(f"`{dotted}` is no dotted name", "write module:function, as in pkg.mod:fn")
    module_name, _, attributes = dotted.partition(":")
    found = _module(project, module_name)
    owner = module_name
    for name in attributes.split("."):
        found = attribute_of(found, name, owner)
        owner = f"{owner}{':' if owner == module_name else '.'}{name}"
    return found


def attribute_of(owner: Any, name: str, label: str) -> Any:
    """`owner.name`. Raises FaultError (import-failed) with the nearest name."""
    try:
        return getattr(owner, name)
    except AttributeError:
        known = [each for each in dir(owner) if not each.startswith("_")]
    raise _failed(f"`{label}` has no `{name}`", did_you_mean(name, known))


@contextmanager
def looking_at(label: str, project: Path) -> Iterator[None]:
    """Turns what user code raises while a callable is looked at into a FaultError (import-failed).

    Attributes, signatures and annotations may run code; what our own code raises passes.
    """
    try:
        yield
    except (FaultError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if isinstance(error, Exception) and _is_ours(error):
            raise
        place = _place(error, project)
        message = f"looking at `{label}` failed: {message_of(error, project)}"
        raise _failed(f"{message} ({place})" if place else message) from error


def _is_ours(error: Exception) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return Path(frames[-1].filename).is_relative_to(_PACKAGE)


def _module(project: Path, name: str) -> Any:
    _put_first(project)
    _forget_other_project(project, name.partition(".")[0])
    if name not in sys.modules:
        importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _reason(error, project, name) from error


def _put_first(project: Path) -> None:
    folder = str(project)
    if sys.path[:1] != [folder]:
        sys.path[:] = [folder, *(each for each in sys.path if each != folder)]


def _forget_other_project(project: Path, top: str) -> None:
    """Drop a module of the same name that an earlier project brought."""
    is_own = (project / f"{top}.py").exists() or (project / top).is_dir()
    if not is_own:
        return
    if _OWNERS.get(top, project) != project:
        for name in [each for each in sys.modules if each.partition(".")[0] == top]:
            del sys.modules[name]
    _OWNERS[top] = project


def _reason(error: BaseException, project: Path, name: str) -> FaultError:
    if isinstance(error, ModuleNotFoundError) and error.name and _is_part(error.name, name):
        return _not_found(project, error.name)
    place = _place(error, project)
    what = message_of(error, project)
    if isinstance(error, SyntaxError):
        what = f"{type(error).__name__}: {error.msg}"
    message = f"importing `{name}` failed: {what}"
    return _failed(f"{message} ({place})" if place else message)


def _is_part(missing: str, name: str) -> bool:
    return f"{name}.".startswith(f"{missing}.")


def _not_found(project: Path, missing: str) -> FaultError:
    parent, _, last = missing.rpartition(".")
    folders = sys.modules[parent].__path__ if parent in sys.modules else [str(project)]
    known = [each.name for each in pkgutil.iter_modules(folders)]
    close = did_you_mean(missing, [f"{parent}.{each}" if parent else each for each in known])
    where = f"in package `{parent}`" if parent else "in the project's folder or installed"
    return _failed(f"there is no module `{last}` {where}", close)


def _place(error: BaseException, project: Path) -> str | None:
    """The innermost `file:line` of the project that the error passed through."""
    if isinstance(error, SyntaxError) and error.filename:
        places: Iterable[tuple[str, int | None]] = [(error.filename, error.lineno)]
    else:
        frames = traceback.extract_tb(error.__traceback__)
        places = [(each.filename, each.lineno) for each in reversed(frames)]
    for filename, line in places:
        path = Path(filename)
        if path.is_relative_to(project):
            return f"{path.relative_to(project)}:{line}"
    return None


def _failed(message: str, hint: str | None = None) -> FaultError:
    return FaultError(Fault("import-failed", message, hint=hint))
