"""The description of a server: of what each caller sees, and not made anew for each of them."""

import time
from collections.abc import Iterator

import pytest
from served import FILES, PEOPLE, Served, served

pytestmark = pytest.mark.anyio
RULES = """\
rules:
- {id: own, decide: deny, tools: [t.pay], unless: '"finance" in caller.roles'}
default: allow
"""
KNOWN = {**FILES, "toolrt.yaml": PEOPLE, "policies.d/p.yaml": RULES}


async def described(server: Served, key: str | None = None) -> set[str]:
    """The tools of the description that somebody gets."""
    paths = (await server.get("/openapi.json", key)).json()["paths"]
    return {path.split("/")[3] for path in paths if path.endswith("/call")}


def many(count: int) -> Iterator[str]:
    yield "tools:\n"
    for each in range(count):
        yield f"  more{each}: {{description: More., python: 'sums:fails', effect: read}}\n"


async def test_each_caller_has_the_tools_that_they_see_whoever_asked_before(tmp_path) -> None:
    usual = {"t.add", "t.nap", "t.fails"}
    async with served(KNOWN) as server:
        found = [await described(server, key) for key in ("bot-key", "ann-key", "bot-key", None)]
        file = server.runtime.project / "tools.d" / "t.yaml"
        file.write_text(file.read_text().replace("  fails:", "  other:"))
        await server.runtime.reload("asked", accept_loss=True)
        after = await described(server, "bot-key")

    assert found == [usual, usual | {"t.pay"}, usual, usual]
    assert after == {"t.add", "t.nap", "t.other"}


@pytest.mark.realtime
@pytest.mark.parametrize(
    "path", ["/openapi.json", "/schema/tools.json", "/schema/project.json", "/schema/policies.json"]
)
async def test_who_asks_for_a_description_again_and_again_holds_up_nobody(path: str) -> None:
    async with served({**FILES, "tools.d/more.yaml": "".join(many(200))}) as server:
        await server.get(path)
        began = time.process_time()
        for _ in range(20):
            await server.get(path)
        each_s = (time.process_time() - began) / 20

    assert each_s < 0.02
