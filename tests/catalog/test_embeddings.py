"""An embedder that does what nobody would leaves search by words, and takes nothing down (R10)."""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count, repeat
from typing import Any

import pytest

from toolrt.catalog.embeddings import Embeddings

pytestmark = pytest.mark.anyio

Vectors = list[list[float]]


def good(texts: list[str]) -> Vectors:
    return [[float(len(text)), 1.0] for text in texts]


def exits(_texts: list[str]) -> Vectors:
    sys.exit(3)


async def exits_later(_texts: list[str]) -> Vectors:
    sys.exit(3)


async def interrupts(_texts: list[str]) -> Vectors:
    raise KeyboardInterrupt


async def cancels(_texts: list[str]) -> Vectors:
    raise asyncio.CancelledError


def no_numbers(texts: list[str]) -> Vectors:
    return [[float("nan"), 1.0] for _ in texts]


def endless(_texts: list[str]) -> Iterator[list[float]]:
    return repeat([1.0])


def endless_vectors(texts: list[str]) -> list[Iterator[float]]:
    return [map(float, count()) for _ in texts]


def fewer(texts: list[str]) -> Vectors:
    return good(texts)[1:]


@pytest.mark.parametrize(
    "embedder",
    [
        exits, exits_later, interrupts, cancels, no_numbers, endless, endless_vectors, fewer,
        lambda _texts: None, lambda _texts: 3, lambda _texts: [[]], lambda _texts: [["x"]],
        lambda _texts: [[10**400]], lambda _texts: [[1e300, 1e300]],
    ],
)  # fmt: skip
async def test_what_an_embedder_does_wrong_ends_no_search(embedder: Any) -> None:
    assert await Embeddings(embedder, "e:e").nearness("a", ["b"]) is None


async def test_an_embedder_that_hangs_is_left_alone_for_a_while() -> None:
    released, asked = threading.Event(), []

    def hangs(texts: list[str]) -> Vectors:
        asked.append(texts)
        released.wait(10)
        return good(texts)

    made = Embeddings(hangs, "e:e", patience_s=0.2)
    assert await asyncio.gather(*(made.nearness("a", ["b"]) for _ in range(5))) == [None] * 5
    assert len(asked) == 1
    released.set()
    await asyncio.sleep(0.3)
    assert await made.nearness("a", ["b"]) == [pytest.approx(1.0)]


async def test_an_embedder_that_will_not_be_cancelled_holds_up_nobody() -> None:
    async def stubborn(texts: list[str]) -> Vectors:
        for _ in range(3):
            try:
                await asyncio.sleep(0.4)
            except asyncio.CancelledError:
                continue
        return good(texts)

    assert await Embeddings(stubborn, "e:e", patience_s=0.1).nearness("a", ["b"]) is None
    await asyncio.sleep(1.3)


async def test_who_gives_up_a_search_gives_up_the_embedder() -> None:
    ended = asyncio.Event()

    async def slow(_texts: list[str]) -> Vectors:
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()
        return []

    task = asyncio.create_task(Embeddings(slow, "e:e").nearness("a", ["b"]))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(ended.wait(), 5)


@pytest.mark.parametrize("how", [lambda f: f, lambda f: lambda texts: _later(f, texts)])
async def test_each_text_is_asked_for_once(how: Callable[[Any], Any]) -> None:
    asked: list[str] = []

    def noting(texts: list[str]) -> Vectors:
        asked.extend(texts)
        return good(texts)

    made = Embeddings(how(noting), "e:e")
    many = await asyncio.gather(*(made.nearness("intent", ["bb", "ccc"]) for _ in range(5)))
    assert all(each == many[0] for each in many)
    assert sorted(set(asked)) == ["bb", "ccc", "intent"]
    assert (asked.count("bb"), asked.count("intent")) == (1, 5)


async def test_an_embedder_that_has_become_another_is_asked_anew() -> None:
    sizes = [2, 3, 3, 3]

    def changing(texts: list[str]) -> Vectors:
        return [[1.0] * sizes[0] for _ in texts]

    made = Embeddings(changing, "e:e")
    assert await made.nearness("a", ["b"]) == [pytest.approx(1.0)]
    sizes.pop(0)
    assert await made.nearness("a", ["b"]) is None
    assert await made.nearness("a", ["b"]) == [pytest.approx(1.0)]


async def _later(embedder: Any, texts: list[str]) -> Any:
    return embedder(texts)
