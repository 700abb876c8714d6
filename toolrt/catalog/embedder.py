"""`retrieval.embedder`: the callable of the project that search asks for vectors."""

from pathlib import Path

from toolrt.bindings.python_imports import import_from
from toolrt.catalog.embeddings import Embeddings
from toolrt.catalog.workshop import Workshop
from toolrt.core.faults import Fault, FaultError
from toolrt.schemas.phrases import with_article


def check_embedder(workshop: Workshop) -> None:
    """Report an embedder that cannot be imported or called."""
    files = workshop.files
    options = files.project.retrieval
    if options is None or options.embedder is None or files.project_document is None:
        return
    if not workshop.imports:
        return
    try:
        embeddings_of(files.root, options.embedder)
    except FaultError as error:
        files.report(files.project_document, (), *error.under("retrieval", "embedder"))


def embeddings_of(project: Path, dotted: str) -> Embeddings:
    """Raises FaultError."""
    found = import_from(project, dotted)
    if not callable(found):
        message = f"`{dotted}` is {with_article(type(found).__name__)}, which cannot be called"
        raise FaultError(Fault("not-callable", message))
    return Embeddings(found, dotted)
