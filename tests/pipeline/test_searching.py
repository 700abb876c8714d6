"""Search over a project (R9, R10): what a caller may not see, or cannot call, is never found."""

import asyncio
from collections.abc import Mapping

import pytest

from toolrt.catalog.retrieval import index_of
from toolrt.core.calls import Caller
from toolrt.opened import Runtime
from toolrt.pipeline import searching
from toolrt.runtime import load
from toolrt.testing import open_files, write_files

pytestmark = pytest.mark.anyio

TOOLS = """
namespace: shop
defaults: {effect: read}
tools:
  forecast:
    description: Forecast of the weather for a city, up to 14 days ahead.
    tags: [outside]
    parameters: {city: string}
    command: [echo, "{{ city }}"]
  refund:
    description: Give money back to a customer.
    tags: [money]
    command: [echo]
  pay_invoice:
    description: Pay an invoice of a supplier.
    tags: [money]
    command: [echo]
  tenki:
    description: 都市の天気予報を取得する。
    command: [echo]
  chaxun:
    description: 查询城市的天气。
    command: [echo]
  secret:
    description: Pay an invoice with the master key.
    command: {argv: [echo], stdin: "${secret:master}"}
"""
RULES = """
rules:
  - {id: all, decide: allow, tools: ["*"]}
  - {id: no-money, decide: deny, tools: ["shop.refund"], unless: "'boss' in caller.roles"}
"""
EMBEDDER = """
WORDS = ["weather", "sky", "money", "rain"]

def near(texts):
    return [[float(w in t.lower() or (w == "weather" and "sky" in t.lower())) for w in WORDS]
            for t in texts]

async def later(texts):
    return near(texts)

def broken(texts):
    raise RuntimeError("no model here")

def uneven(texts):
    return [[1.0] * (n + 1) for n, _ in enumerate(texts)]

NOTHING = 3
"""


def files(project: str = "", policy: str = RULES) -> Mapping[str, str]:
    return {
        "tools.d/shop.yaml": TOOLS,
        "policies.d/p.yaml": policy,
        "toolrt.yaml": project,
        "embed.py": EMBEDDER,
    }


async def names(
    runtime: Runtime, intent: str, caller: Caller | None = None, **options
) -> list[str]:  # type: ignore[no-untyped-def]
    return [found.entry.name for found in await runtime.search(intent, caller, **options)]


@pytest.mark.parametrize(
    ("intent", "first"),
    [
        ("what will the weather be in the city", "shop.forecast"),
        ("give somebody their money back", "shop.refund"),
        ("INVOICES", "shop.pay_invoice"),
        ("天気予報", "shop.tenki"),
        ("查询天气", "shop.chaxun"),
        ("payInvoice", "shop.pay_invoice"),
    ],
)
async def test_r10_what_serves_an_intent_comes_first(intent: str, first: str) -> None:
    boss = Caller("ann", roles=("boss",))
    async with open_files(files()) as runtime:
        assert (await names(runtime, intent, boss))[0] == first


async def test_r10_what_rules_hide_or_a_secret_lacks_is_not_found() -> None:
    async with open_files(files()) as runtime:
        assert await names(runtime, "give back") == []
        assert await names(runtime, "master key invoice") == ["shop.pay_invoice"]
        boss = Caller("ann", roles=("boss",))
        assert await names(runtime, "give back", boss) == ["shop.refund"]


async def test_r10_tags_and_namespaces_come_before_ranking() -> None:
    async with open_files(files()) as runtime:
        assert await names(runtime, "invoice weather", tags=["outside"]) == ["shop.forecast"]
        assert await names(runtime, "invoice", namespace="other") == []
        assert await names(runtime, "weather invoice", k=1, namespace="shop") != []


async def test_r9_another_generation_is_searched_at_once(tmp_path) -> None:  # type: ignore[no-untyped-def]
    import toolrt

    write_files(tmp_path, files())
    async with toolrt.open(tmp_path) as runtime:
        assert await names(runtime, "zeppelin") == []
        more = TOOLS + "  fly:\n    description: Book a zeppelin.\n    command: [echo]\n"
        write_files(tmp_path, {"tools.d/shop.yaml": more})
        assert (await runtime.reload()).is_new
        assert await names(runtime, "zeppelin") == ["shop.fly"]


@pytest.mark.parametrize("embedder", ["embed:near", "embed:later"])
async def test_r10_an_embedder_finds_what_no_word_does(embedder: str) -> None:
    async with open_files(files(f"retrieval: {{embedder: '{embedder}'}}\n")) as runtime:
        assert (await names(runtime, "how is the sky"))[0] == "shop.forecast"
        hits = await runtime.search("how is the sky over the city", k=3)
    assert hits[0].entry.name == "shop.forecast"
    assert hits[0].terms == ("city",)


@pytest.mark.parametrize("embedder", ["embed:broken", "embed:uneven"])
async def test_an_embedder_that_fails_leaves_search_by_words(
    embedder: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_files(files(f"retrieval: {{embedder: '{embedder}'}}\n")) as runtime:
        assert await names(runtime, "invoice") == ["shop.pay_invoice"]
    assert "search goes by words alone" in caplog.text


@pytest.mark.parametrize(
    ("embedder", "code"),
    [("embed:nowhere", "import-failed"), ("embed:NOTHING", "not-callable")],
)
def test_an_embedder_that_is_none_is_told(tmp_path, embedder: str, code: str) -> None:  # type: ignore[no-untyped-def]
    write_files(tmp_path, files(f"retrieval: {{embedder: '{embedder}'}}\n"))
    [found] = [each for each in load(tmp_path, environ={}).diagnostics if each.severity == "error"]
    assert (found.code, found.file, found.line) == (code, "toolrt.yaml", 1)


async def test_r16_models_are_told_short_descriptions() -> None:
    async with open_files(files("retrieval: {k: 1, max_description: 40}\n")) as runtime:
        [found] = await runtime.search("weather city")
    assert found.entry.description == "Forecast of the weather for a city, up…"
    assert found.entry.own_description.endswith("14 days ahead.")  # type: ignore[union-attr]


@pytest.mark.parametrize("k", [0, -1, 10**9])
async def test_no_more_are_found_than_are_wanted(k: int) -> None:
    async with open_files(files()) as runtime:
        found = await names(runtime, "invoice", k=k)
    assert found == (["shop.pay_invoice"] if k > 0 else [])


@pytest.mark.parametrize(
    "intent",
    ["", "\0", "\u202e" * 50, "\ud800", "(((((.*)+)+)+" * 9, "\ufdfa" * 100_000, "é" * 10**6],
)
async def test_whatever_is_asked_for_is_only_text(intent: str) -> None:
    async with open_files(files()) as runtime:
        assert await names(runtime, intent) == []


async def test_an_index_is_made_once_for_all_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(tools):  # type: ignore[no-untyped-def]
        made.append(1)
        return index_of(tools)

    monkeypatch.setattr(searching, "index_of", counted)
    async with open_files(files()) as runtime:
        await asyncio.gather(*(names(runtime, "invoice") for _ in range(20)))
    assert len(made) == 1
