"""Data checked against a model of the manifest language; what is wrong comes as faults."""

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from toolrt.core.faults import Fault
from toolrt.core.faults import Path as FaultPath
from toolrt.loading.layers import replaced
from toolrt.loading.problems import existing_path, faults_of

_REPAIRS = 20

M = TypeVar("M", bound=BaseModel)


def validated(
    model: type[M], data: Any, source_text: Callable[[FaultPath], str | None]
) -> tuple[M | None, list[Fault]]:
    """`data` as a `model`, and what is wrong with it.

    Where a text is wanted, a plain scalar is taken as written (`version: 1.10` is "1.10"), which
    `source_text(path)` knows.
    """
    for _ in range(_REPAIRS):
        try:
            return model.model_validate(data), []
        except ValidationError as error:
            taken = _taken_as_written(error, data, source_text)
            if taken is data:
                return None, faults_of(error, model, data)
            data = taken
    return None, []


def _taken_as_written(
    error: ValidationError, data: Any, source_text: Callable[[FaultPath], str | None]
) -> Any:
    """`data` with plain scalars as texts where `error` wants one; `data` itself without any."""
    for problem in error.errors(include_url=False, include_context=False):
        if problem["type"] != "string_type" or problem["input"] is None:
            continue
        path = existing_path(problem["loc"], data)
        text = source_text(path)
        if text is not None:
            data = replaced(data, path, text)
    return data
