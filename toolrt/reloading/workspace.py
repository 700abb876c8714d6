"""A project that can be compiled again and again, with all that its generations share."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from toolrt.bindings.base import Services
from toolrt.catalog.compiler import Compiled, compile_files
from toolrt.catalog.kept import KeptTools
from toolrt.catalog.schemas import schema_files
from toolrt.expressions.references import References
from toolrt.loading.loader import LoadedFiles, load_files
from toolrt.loading.sources import Given
from toolrt.loading.stock import Library, Stock
from toolrt.loading.survey import survey
from toolrt.reloading.rules import RulesCompiler


class Workspace:
    """Compiles the project at `root`; what has not changed since the last time is used again.

    `references` come to be with the first generation, and stay. `given` is what the program that
    has it open has added. `imports` false leaves Python
    callables alone.
    """

    def __init__(
        self, root: Path, services: Services, environ: Mapping[str, str], *, imports: bool = True
    ) -> None:
        self.root = root
        self.services = services
        self._environ = environ
        self._imports = imports
        self._library = Library()
        self._kept = KeptTools()
        self._compile_rules = RulesCompiler().policy
        self._references: References | None = None
        self._schemas: set[Path] = set()
        self.given: tuple[Given, ...] = ()

    @property
    def references(self) -> References:
        if self._references is None:
            raise RuntimeError("nothing has been compiled yet")
        return self._references

    def stock(self) -> Stock:
        """The files as they are now, schemas in files of their own among them."""
        return survey(self.root, self._library, self._schemas).with_given(self.given)

    def compile(self, stock: Stock, generation: int = 1) -> Compiled:
        """Compile `stock`. Blocks, and never raises for what the files hold."""
        with _collector_paused():
            files = load_files(stock)
            self._library.turn()
            if self._references is None:
                self._references = _references(files, self._environ)
            self._note_schemas(files)
            return compile_files(
                files,
                self.services,
                self._references,
                self._compile_rules,
                generation=generation,
                imports=self._imports,
                kept=self._kept,
            )

    def _note_schemas(self, files: LoadedFiles) -> None:
        """Let files of schemas count: a change of one is a change of the project."""
        found = {
            (files.root / written.document.file).parent / name
            for written in files.tools
            for name in schema_files(written.layered.merged)
        }
        for path in sorted(found):
            files.stock.look(path)
        self._schemas = found


def _references(files: LoadedFiles, environ: Mapping[str, str]) -> References:
    secrets = [
        source if isinstance(source, str) else source.model_dump()
        for source in files.project.secrets
    ]
    return References(files.root, environ, secrets)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Loading makes a great many objects that nearly all stay: looking for garbage among them is
    waste, and the first look afterwards would hold every call for as long as it takes.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            _let_them_be_old()
            gc.enable()


def _let_them_be_old() -> None:
    """Count all objects among the oldest, without a look at them; not where somebody has frozen
    objects, which must stay so.
    """
    if gc.get_freeze_count() == 0:
        gc.freeze()
        gc.unfreeze()
