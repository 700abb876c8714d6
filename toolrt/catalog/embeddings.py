"""What texts mean, as the project's own embedder has it: nearness of an intent to each tool.

An embedder is a callable of the project that gives a vector for each of some texts. Vectors of
tools are asked for once. What it does wrong is told to the operator, and search goes on by words.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import partial
from hashlib import sha256
from itertools import islice
from math import isfinite, sqrt
from operator import mul
from typing import Any, Final

from toolrt.bindings.threads import aside
from toolrt.core import logs
from toolrt.core.errors import RefusedError

Embedder = Callable[[list[str]], "Sequence[Sequence[float]] | Awaitable[Sequence[Sequence[float]]]"]
Vector = tuple[float, ...]

Found = tuple[Any, BaseException | None]
"""What an embedder gave, and what it raised."""

_AT_ONCE: Final = 128
_MOST_KEPT: Final = 100_000
_LONGEST: Final = 20_000
"""Characters of an intent that count, and numbers that a vector may have."""
_PATIENCE_S: Final = 20.0
"""How long an embedder may take for one list of texts, and how long it is left alone after that."""


class Embeddings:
    """The vectors of texts; those that were asked for are kept."""

    def __init__(self, embedder: Embedder, label: str, patience_s: float = _PATIENCE_S) -> None:
        self._embedder = embedder
        self._label = label
        self._patience_s = patience_s
        self._kept: dict[bytes, Vector] = {}
        self._turn = asyncio.Lock()
        self._rests_until_s = float("-inf")

    async def nearness(self, intent: str, texts: Sequence[str]) -> list[float] | None:
        """The cosine between an intent and each text; None where the embedder fails."""
        try:
            async with self._turn:
                self._refuse_resting()
                known = await self._learnt(texts)
                [wanted] = await self._asked([intent[:_LONGEST]])
        except Exception as error:  # noqa: BLE001 - user code: search goes on without it
            logs.BUGS.warning(
                "the embedder %s failed (%s): search goes by words alone",
                self._label,
                type(error).__name__,
            )
            return None
        return await aside(lambda: [_cosine(wanted, each) for each in known])

    async def _learnt(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of texts; only for new ones the embedder is asked."""
        new = [text for text in dict.fromkeys(texts) if _key(text) not in self._kept]
        if len(self._kept) + len(new) > _MOST_KEPT:
            self._kept.clear()
            new = list(dict.fromkeys(texts))
        for start in range(0, len(new), _AT_ONCE):
            some = new[start : start + _AT_ONCE]
            vectors = await self._asked(some)
            self._kept |= {_key(text): made for text, made in zip(some, vectors, strict=True)}
        return [self._kept[_key(text)] for text in texts]

    async def _asked(self, texts: list[str]) -> list[Vector]:
        """Raises whatever the embedder does, and RefusedError for what is no vector a text."""
        found = await self._within_patience(self._given(texts))
        vectors: list[Vector] = await self._within_patience(_vectors(found, len(texts)))
        sizes = {len(each) for each in (*vectors, *list(self._kept.values())[:1])}
        if len(vectors) != len(texts) or len(sizes) != 1:
            self._kept.clear()  # it may be another one by now
            raise RefusedError(f"{self._label} gives other than one vector a text", code="internal")
        return vectors

    async def _given(self, texts: list[str]) -> Found:
        """What the embedder gives. Nothing that it raises ends more than this search."""
        try:
            if inspect.iscoroutinefunction(self._embedder):
                return await self._embedder(texts), None
            found: Any = await aside(partial(self._embedder, texts))
            return (await found if inspect.isawaitable(found) else found), None
        except BaseException as error:  # noqa: BLE001 - the call into user code
            return None, error

    async def _within_patience(self, work: Coroutine[Any, Any, Found]) -> Any:
        """What `work` gives in time. Who takes longer is left alone, and for a while."""
        task = asyncio.create_task(work)
        try:
            done, _ = await asyncio.wait({task}, timeout=self._patience_s)
        finally:
            task.cancel()
        if not done:
            self._rests_until_s = _now_s() + self._patience_s
            raise TimeoutError
        value, error = task.result()
        if isinstance(error, Exception):
            raise error
        if error is not None:
            raise RefusedError(f"{self._label} raised {type(error).__name__}", code="internal")
        return value

    def _refuse_resting(self) -> None:
        if _now_s() < self._rests_until_s:
            raise RefusedError(f"{self._label} took too long just now", code="unavailable")


async def _vectors(found: Any, most: int) -> Found:
    """What an embedder gave as vectors; also of arrays, which know their rows by themselves."""

    def made() -> list[Vector]:
        return [_unit(each) for each in islice(found, most + 1)]

    try:
        return await aside(made), None
    except BaseException as error:  # noqa: BLE001 - it may be code of the project that is read
        return None, error


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def fused(*rankings: Iterable[str]) -> dict[str, float]:
    """Several rankings as one: reciprocal rank fusion, with its usual 60.

    Cormack, Clarke and Büttcher, Reciprocal Rank Fusion outperforms Condorcet (2009).
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, name in enumerate(ranking, start=1):
            scores[name] = scores.get(name, 0.0) + 1 / (60 + rank)
    return scores


def _unit(vector: Sequence[float]) -> Vector:
    made = tuple(map(float, islice(vector, _LONGEST + 1)))
    length = sqrt(sum(map(mul, made, made)))
    if not 0 < len(made) <= _LONGEST or not isfinite(length):
        message = "a vector is empty, endless, or holds what is no number"
        raise RefusedError(message, code="internal")
    return tuple(each / length for each in made) if length else made


def _cosine(one: Vector, other: Vector) -> float:
    return float(sum(map(mul, one, other)))


def _key(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
