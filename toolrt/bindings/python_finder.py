"""Lets a project's own modules come before installed ones, as they do for a program of its own.

Except for the names of Python's modules and of what toolrt itself imports: a file of the project
must not take the place of a module that one of them still has to load.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

OURS = frozenset(
    {
        "aiohappyeyeballs", "aiohttp", "aiosignal", "annotated_types", "anyio", "attr", "attrs",
        "cel_expr_python", "certifi", "click", "docstring_parser", "frozenlist", "google", "h11",
        "httpcore", "httptools", "httpx", "idna", "jinja2", "jmespath", "jsonschema_rs", "jwt",
        "markupsafe", "multidict", "opentelemetry", "prometheus_client", "propcache", "pydantic",
        "pydantic_core", "re2", "sniffio", "starlette", "tenacity", "toolrt", "typing_extensions",
        "typing_inspection", "uvicorn", "uvloop", "watchfiles", "yaml", "yarl",
    }
)  # fmt: skip
"""Top-level names that toolrt and its libraries import."""


class _ProjectFinder:
    """Finds modules and packages in `folders`, the first one first."""

    def __init__(self) -> None:
        self.folders: list[str] = []

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """As importlib asks: the spec of a top-level module of a project, or None.

        A bare folder does not hide an installed package, but comes before other bare folders.
        """
        if path is not None or fullname in OURS or fullname in sys.stdlib_module_names:
            return None
        spec = PathFinder.find_spec(fullname, self.folders, target)
        if spec is None or spec.loader is not None:
            return spec
        installed = PathFinder.find_spec(fullname, None, target)
        if installed is not None and installed.loader is not None:
            return None
        both = ModuleSpec(fullname, None, is_package=True)
        others = installed.submodule_search_locations or () if installed else ()
        both.submodule_search_locations = list(
            dict.fromkeys([*(spec.submodule_search_locations or ()), *others])
        )
        return both


_finder = _ProjectFinder()


def put_first(folders: list[str]) -> None:
    """Let modules of these folders come before installed ones."""
    _finder.folders = list(folders)
    if _finder not in sys.meta_path:
        at = next((n for n, each in enumerate(sys.meta_path) if each is PathFinder), 0)
        sys.meta_path.insert(at, _finder)
