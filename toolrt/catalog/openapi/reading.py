"""The bytes of a document to its data: JSON or YAML, within bounds."""

from typing import Any, Final

from pydantic_core import from_json

from toolrt.catalog.openapi.mapping import NoOpenApiError
from toolrt.loading.reader import LARGE_LIMIT, read_large

_MOST_SHOWN: Final = 300


def document_data(source: bytes, file: str) -> Any:
    """The data of a document; `file` is its name in messages. Raises NoOpenApiError.

    What looks like JSON is read as that, which is thirty times as fast as YAML.
    """
    if len(source) > LARGE_LIMIT:
        raise NoOpenApiError(f"it is larger than {LARGE_LIMIT >> 20} MiB")
    if source.lstrip()[:1] == b"{":
        try:
            return from_json(source, allow_inf_nan=False)
        except ValueError as error:
            why = str(error)
        return _yaml(source, file, f"it is no JSON: {why}")
    return _yaml(source, file, "")


def _yaml(source: bytes, file: str, otherwise: str) -> Any:
    document = read_large(source, file)
    wrong = [each for each in document.faults if each.severity == "error"]
    if not wrong and document.data is not None:
        return document.data
    if otherwise or not wrong:
        raise NoOpenApiError(otherwise[:_MOST_SHOWN] or "it says nothing")
    first = min(wrong, key=lambda each: (each.line, each.column))
    raise NoOpenApiError(f"line {first.line}, column {first.column}: {first.message}"[:_MOST_SHOWN])
