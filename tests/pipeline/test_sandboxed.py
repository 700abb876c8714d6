import json

import pytest

from toolrt.bindings import bubblewrap, sandbox
from toolrt.bindings.bubblewrap import Bubblewrap, Needs
from toolrt.testing import open_files

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("disk")]

WORKS = bubblewrap.program(Needs(network=False, write=True))
walled = pytest.mark.skipif(WORKS.path is None, reason=f"no sandbox here: {WORKS.detail}")
NONE = Bubblewrap(None, "needs bubblewrap, which is not installed", "install it")


def files(options):
    tool = f"command: {{argv: [python3, -c, '{{{{ code }}}}'], {options}}}"
    return {
        "tools.d/t.yaml": f"tools: {{t: {{description: T., parameters: {{code: string}}, {tool}}}}}",
        "policies.d/p.yaml": "rules: [{id: all, decide: allow, tools: ['*']}]",
        "out/keep": "",
    }


@walled
@pytest.mark.parametrize(
    ("options", "status"),
    [
        ("sandbox: {}", "success"),
        ("sandbox: {network: true}", "paused"),
        ("sandbox: {write: [out]}", "paused"),
        ("env: {}", "paused"),
    ],
)
async def test_p16_text_for_an_interpreter_asks_unless_nothing_gets_out(options, status):
    async with open_files(files(options)) as rt:
        result = await rt.call("t", {"code": "print(1)"})
    assert result.status == status


@walled
async def test_people_who_are_asked_see_the_sandbox():
    async with open_files(files("sandbox: {write: [out]}")) as rt:
        result = await rt.call("t", {"code": "print(1)"})
        asked = await rt.approvals.get(result.pause.approval_id)
    assert json.loads(asked.view)["sandbox"] == {"network": False, "write": ["out"]}


async def test_s11_a_tool_without_its_sandbox_is_unavailable_and_says_why(monkeypatch):
    monkeypatch.setattr(sandbox, "program", lambda _needs: NONE)
    async with open_files(files("sandbox: {}")) as rt:
        result = await rt.call("t", {"code": "open('out/ran', 'w')"})
        assert not (rt.project / "out" / "ran").exists()
    assert (result.status, result.error.code) == ("error", "unavailable")


async def test_another_sandbox_is_another_definition():
    hashes = set()
    for options in (
        "env: {}",
        "sandbox: {}",
        "sandbox: {network: true}",
        "sandbox: {write: [out]}",
    ):
        async with open_files(files(options)) as rt:
            hashes.add(rt.snapshot.tools["t"].definition_hash)
    assert len(hashes) == 4
