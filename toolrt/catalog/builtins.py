"""Tools of toolrt itself, which a project switches on by name: `builtins: [get_user_input]`.

They stand in the snapshot like any other: rules decide about them, settings lie over them. What
they do stands in modules of their own; here is how they come in.
"""

from collections.abc import Mapping
from typing import Any

from toolrt.bindings.base import Binding
from toolrt.catalog import do_tool, meta_tools, plan_and_execute, user_input
from toolrt.catalog.results import compile_shaping
from toolrt.catalog.snapshot import ToolEntry
from toolrt.catalog.workshop import Workshop
from toolrt.loading.layers import Layer, Layered
from toolrt.loading.loader import LoadedFiles, WrittenTool
from toolrt.loading.validation import validated
from toolrt.manifest.parameters import Parameters
from toolrt.manifest.tool import ToolManifest
from toolrt.schemas.arguments import ArgumentChecker

WORKING: Mapping[str, Mapping[str, Any]] = {
    do_tool.NAME: do_tool.MANIFEST,
    meta_tools.CALL: meta_tools.CALL_MANIFEST,
    meta_tools.SEARCH: meta_tools.SEARCH_MANIFEST,
    plan_and_execute.NAME: plan_and_execute.MANIFEST,
    user_input.NAME: user_input.MANIFEST,
}
"""What a file would say of each."""

_LAYER = "built-in"


def add_builtins(files: LoadedFiles) -> None:
    """Put the tools that the project switches on behind its own.

    A tool of the project with the same name is found like any that is declared twice.
    """
    document = files.project_document
    names = files.project.builtins if document is not None else []
    for number, name in enumerate(names):
        path = ("builtins", number)
        if document is None or name in names[:number]:
            continue
        layered = Layered([Layer(_LAYER, document, path, WORKING[name])])
        files.tools.append(WrittenTool(name, None, layered, document, path))


def compile_builtin(workshop: Workshop, written: WrittenTool) -> ToolEntry | None:
    """The compiled tool, or None when settings over it have errors; these are reported."""
    layered = written.layered
    manifest, faults = validated(ToolManifest, layered.merged, layered.source_text)
    workshop.files.report_layered(written.path, layered, faults)
    if manifest is None:
        return None
    parameters = Parameters(dict(manifest.input_schema or {}))
    shaping = compile_shaping(
        manifest,
        parameters.schema["properties"],
        workshop.names(parameters),
        workshop.condition_keys,
        [],
    )
    return ToolEntry(
        name=written.name,
        namespace=None,
        kind=_LAYER,
        description=manifest.description or "",
        effect=manifest.effect or "read",
        is_idempotent=manifest.effect == "read",
        manifest=manifest,
        parameters=parameters,
        checker=ArgumentChecker(parameters.schema),
        binding=_binding(written.name, workshop),
        shaping=shaping,
        layered=layered,
        file=written.document.file,
        path=written.path,
        vars=workshop.files.project.vars,
        form=user_input.form if written.name == user_input.NAME else None,
    )


def _binding(name: str, workshop: Workshop) -> Binding:
    if name == plan_and_execute.NAME:
        return plan_and_execute.planner_of(workshop)
    if name == do_tool.NAME:
        return do_tool.doing_of(workshop)
    if name == meta_tools.SEARCH:
        return meta_tools.Searching(workshop.services.share(meta_tools.Finders))
    return meta_tools.Calling() if name == meta_tools.CALL else user_input.UserInput()
