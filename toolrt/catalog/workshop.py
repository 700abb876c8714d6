"""What compiling a tool needs beside the tool itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from toolrt.bindings.base import BindContext, Services
from toolrt.catalog.implementation import bound_as
from toolrt.expressions.conditions import CONDITION_KEYS
from toolrt.expressions.references import References
from toolrt.expressions.templates import KNOWN_KEYS, Names
from toolrt.loading.loader import LoadedFiles
from toolrt.manifest.parameters import Parameters
from toolrt.manifest.target import Target

T = TypeVar("T")


@dataclass
class Workshop:
    """The files, and what all bindings share. `imports` false leaves Python callables alone."""

    files: LoadedFiles
    services: Services
    references: References
    imports: bool = True
    _shared: dict[object, frozenset[Any]] = field(default_factory=dict)

    def shared(self, found: Iterable[T]) -> frozenset[T]:
        """The same object for what is equal: most tools have what others have, too."""
        made = frozenset(found)
        return self._shared.setdefault(made, made)

    @cached_property
    def targets(self) -> Mapping[str, Target]:
        return {name: written.target for name, written in self.files.targets.items()}

    @cached_property
    def known_keys(self) -> Mapping[str, frozenset[str]]:
        if not self.files.knows.vars:
            return KNOWN_KEYS
        return {**KNOWN_KEYS, "vars": frozenset(self.files.project.vars)}

    @cached_property
    def condition_keys(self) -> Mapping[str, frozenset[str]]:
        return {**CONDITION_KEYS, **self.known_keys}

    @cached_property
    def _no_names(self) -> Names:
        return Names(known_keys=self.known_keys)

    def names(self, parameters: Parameters | None = None) -> Names:
        """What a template may name: parameters, caller, call and vars."""
        if parameters is None:
            return self._no_names
        return Names(
            parameters.names,
            parameters.optional,
            known_keys=self.known_keys,
            scalars=parameters.scalars,
        )

    def context(self, tool: str, parameters: Parameters | None = None, **more: Any) -> BindContext:
        """A context for a kind to bind `tool` in."""
        return BindContext(
            tool=tool,
            project=self.files.root,
            services=self.services,
            references=self.references,
            input_schema=parameters.schema if parameters else {},
            visible=parameters.visible if parameters else frozenset(),
            names=self.names(parameters),
            targets=self.targets,
            vars=self.files.project.vars,
            imports=self.imports,
            settings=self.files.project,
            bind_as=bound_as,
            servers=self.files.servers,
            **more,
        )
