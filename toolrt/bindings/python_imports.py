"""Dotted names to Python objects, and what to say when there is none.

`pkg.mod:attr.attr` is looked for in the project's folder first, but for the names of modules that
Python and toolrt itself need (`python_finder`): a file of the project that would have to take the
place of one of those is a fault. Whoever imports goes through here: one place changes `sys.path`,
and one place turns what goes wrong into a fault.
"""

import asyncio
import importlib
import pkgutil
import re
import sys
import traceback
from asyncio import _get_running_loop, _set_running_loop
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from toolrt.bindings.forks import without_clones
from toolrt.bindings.python_errors import message_of
from toolrt.bindings.python_finder import put_first
from toolrt.core.faults import Fault, FaultError
from toolrt.core.names import did_you_mean
from toolrt.schemas.foreign import ForeignError, looking

DOTTED = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"

MODULE = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"

T = TypeVar("T")

_PACKAGE = Path(__file__).parents[1]
_OWNERS: dict[str, Path] = {}
"""Top-level module -> the project that it was last imported from."""
_ADDED: list[str] = []
"""Folders of projects that were put on `sys.path` here."""


def import_from(project: Path, dotted: str) -> Any:
    """The object named `pkg.mod:attr.attr`.

    Raises FaultError (import-failed) with the true cause: no such module, no such attribute, a file
    of the project that an installed module hides, or what the module's own code raised, and where.
    """
    if not re.match(DOTTED, dotted):
        hint = meant_by(dotted) or "module:function, as in pkg.mod:fn"
        raise _failed(f"`{dotted}` is no dotted name", f"write {hint}")
    module_name, _, attributes = dotted.partition(":")
    file = module_name.removesuffix(".py")
    if file != module_name and not hasattr(_module(project, file), "__path__"):
        raise _failed(f"`{module_name}` is a file, and `{file}` its module", _write(dotted))
    found = _module(project, module_name)
    owner = module_name
    for name in attributes.split("."):
        found = attribute_of(found, name, owner)
        owner = f"{owner}{':' if owner == module_name else '.'}{name}"
    return found


def module_from(project: Path, name: str) -> Any:
    """The module `pkg.mod`. Raises FaultError (import-failed) as `import_from`."""
    if not re.match(MODULE, name):
        hint = meant_by(name)
        raise _failed(f"`{name}` is no name of a module", hint and f"write {hint}")
    return _module(project, name)


def run_at_load(label: str, project: Path, fn: Callable[[], T]) -> T:
    """What `fn`, which is user code, gives; it finds no loop, whether one runs here or not.

    Raises FaultError (import-failed) for what it raises.
    """
    try:
        with looking_at(label, project), _outside_any_loop(), looking():
            return fn()
    except ForeignError as error:
        if isinstance(error.__cause__, FaultError):
            raise error.__cause__ from None
        raise _failed(f"`{label}` failed: {error}") from error


def meant_by(written: str) -> str | None:
    """The dotted name that a file's name, or one with a dot for the colon, surely stands for."""
    text = re.sub(r":+", ":", written.strip().removeprefix("./").removesuffix("()"))
    module, colon, attributes = text.partition(":")
    if not colon and not module.endswith(".py"):
        module, _, attributes = module.rpartition(".")
    name = f"{module.removesuffix('.py').replace('/', '.')}:{attributes}"
    return name if name != written and re.match(DOTTED, name) else None


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
        with without_clones():
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
    _put_last(project)
    _forget_other_project(project, name.partition(".")[0])
    if name not in sys.modules:
        importlib.invalidate_caches()
    try:
        with without_clones(), _outside_any_loop():
            found = importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _reason(error, project, name) from error
    hidden = _hidden(project, name)
    if hidden:
        raise _failed(f"`{name}` is {_whose(name)}, and hides {hidden}", f"rename {hidden}")
    return found


@contextmanager
def _outside_any_loop() -> Iterator[None]:
    """Importing is the same whether a loop runs here or not: a module may call `asyncio.run`."""
    loop = _get_running_loop()
    if loop is None:
        yield
        return
    task = asyncio.current_task(loop)
    if task is not None:
        _leave_task(loop, task)
    _set_running_loop(None)
    try:
        yield
    finally:
        _set_running_loop(loop)
        if task is not None:
            _enter_task(loop, task)


def _put_last(project: Path) -> None:
    """Put the project behind what is installed and before other projects, so that bare folders of
    it are found, too; what a program has put on its path itself stays where it is.
    """
    folder = str(project)
    if folder in sys.path and folder not in _ADDED:
        return
    others = [each for each in _ADDED if each != folder and each in sys.path]
    own = [each for each in sys.path if each != folder and each not in others]
    if sys.path != (path := [*own, folder, *others]):
        sys.path[:] = path
    _ADDED[:] = [folder, *others]
    put_first(_ADDED)


def _forget_other_project(project: Path, top: str) -> None:
    """Drop a module of the same name that an earlier project brought."""
    is_own = (project / f"{top}.py").exists() or (project / top).is_dir()
    if not is_own:
        return
    before = _OWNERS.get(top, project)
    if before != project:
        for name in [each for each in sys.modules if each.partition(".")[0] == top]:
            if _is_from(before, name):
                del sys.modules[name]
    _OWNERS[top] = project


def _is_from(project: Path, name: str) -> bool:
    """Whether an imported module lies where the project would have it: not in a folder of
    installed modules inside the project, and maybe by another spelling of its path.
    """
    module = sys.modules[name]
    place = project.joinpath(*name.split("."))
    own = {each.resolve() for each in (place, place.parent)}
    file = getattr(module, "__file__", None)
    folders = [Path(file).parent] if file else map(Path, getattr(module, "__path__", ()))
    return any(each.resolve() in own for each in folders)


def _hidden(project: Path, name: str) -> str | None:
    """The file of the project that was meant by a module's name, if it is not the one imported."""
    if name in sys.modules and (_is_stand_in(name) or _is_from(project, name)):
        return None
    path = name.replace(".", "/")
    files = (f"{path}.py", f"{path}/__init__.py")
    return next((each for each in files if (project / each).is_file()), None)


def _is_stand_in(name: str) -> bool:
    """Whether a module has put something else in its place, which need not say where it is from."""
    return getattr(sys.modules[name], "__spec__", None) is None


def _whose(name: str) -> str:
    top = name.partition(".")[0]
    return "Python's own module" if top in sys.stdlib_module_names else "an installed module"


def _reason(error: BaseException, project: Path, name: str) -> FaultError:
    if isinstance(error, ModuleNotFoundError) and error.name and _is_part(error.name, name):
        return _not_found(project, error.name, _hides(error, project))
    place = _place(error, project)
    what = message_of(error, project)
    if isinstance(error, SyntaxError):
        what = f"{type(error).__name__}: {error.msg}"
    message = f"importing `{name}` failed: {what}"
    return _failed(f"{message} ({place})" if place else message, _hides(error, project))


def _hides(error: BaseException, project: Path) -> str | None:
    """What to do when the module that lacks something is not the project's own of that name."""
    name = error.name if isinstance(error, ImportError) else None
    hidden = _hidden(project, name) if name else None
    if name is None or hidden is None:
        return None
    top = name.partition(".")[0]
    return f"`{top}` is {_whose(top)}, and hides {hidden}: rename it"


def _is_part(missing: str, name: str) -> bool:
    return f"{name}.".startswith(f"{missing}.")


def _not_found(project: Path, missing: str, hides: str | None) -> FaultError:
    parent, _, last = missing.rpartition(".")
    if parent in sys.modules and not hasattr(sys.modules[parent], "__path__"):
        hint = _write(missing) if last in vars(sys.modules[parent]) else None
        message = f"there is no module `{last}` in `{parent}`, which is no package"
        return _failed(message, hides or hint)
    folders = sys.modules[parent].__path__ if parent in sys.modules else [str(project)]
    known = [each.name for each in pkgutil.iter_modules(folders)]
    close = did_you_mean(missing, [f"{parent}.{each}" if parent else each for each in known])
    where = f"in package `{parent}`" if parent else "in the project's folder or installed"
    return _failed(f"there is no module `{last}` {where}", hides or close)


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


def _write(slip: str) -> str | None:
    right = meant_by(slip)
    return f"write {right}" if right else None


def _failed(message: str, hint: str | None = None) -> FaultError:
    return FaultError(Fault("import-failed", message, hint=hint))
