"""Rules that count calls look back beyond this process (P18)."""

import pytest

import toolrt
from toolrt.core.calls import Caller
from toolrt.core.errors import RefusedError
from toolrt.testing import stubbed, write_files

pytestmark = pytest.mark.anyio

FILES = {
    "tools.d/t.yaml": """
        tools:
          ping: {description: P., http: "http://127.0.0.1:9/x", effect: read, retry: none}
    """,
    "policies.d/p.yaml": """
        rules:
          - {id: often, decide: deny, tools: [ping], when: 'history.calls("1h") >= 2'}
        default: allow
    """,
}
ANN = Caller("ann")


async def codes(root, caller=ANN, times=1):
    """The codes of some calls in a runtime of their own."""
    async with toolrt.open(root) as runtime:
        with stubbed(runtime, {"ping": lambda _: "pong"}):
            results = [await runtime.call("ping", {}, caller) for _ in range(times)]
    return [result.error and result.error.code for result in results]


async def test_p18_calls_of_earlier_processes_count(tmp_path):
    root = write_files(tmp_path, FILES)
    assert await codes(root) == [None]
    assert await codes(root, times=2) == [None, "denied"]
    assert await codes(root) == ["denied"]


async def test_p18_neither_denied_calls_nor_those_of_others_count(tmp_path):
    root = write_files(tmp_path, FILES)
    assert await codes(root, times=3) == [None, None, "denied"]
    assert await codes(root, Caller("bob"), times=2) == [None, None]
    assert await codes(root, Caller("ann", tenant="other"), times=2) == [None, None]


async def test_p7_calls_that_cannot_be_counted_are_not_made(tmp_path):
    root = write_files(tmp_path, FILES)
    (root / ".toolrt").mkdir(mode=0o700)
    (root / ".toolrt" / "state.db").write_bytes(b"no database" * 100)
    (root / ".toolrt" / "state.db").chmod(0o600)
    assert await codes(root) == ["unavailable"]


async def test_p18_who_only_asks_what_would_be_decided_is_told_with_the_calls_of_before(tmp_path):
    root = write_files(tmp_path, FILES)
    async with toolrt.open(root) as runtime:
        assert (await runtime.explain("ping", {}, ANN)).decision.verdict == "allow"
    assert await codes(root, times=2) == [None, None]
    async with toolrt.open(root) as runtime:
        assert (await runtime.explain("ping", {}, ANN)).decision.rule == "often"
        assert (await runtime.preview("ping", {}, ANN))["decision"]["decision"] == "deny"
        assert (await runtime.explain("ping", {}, Caller("bob"))).decision.verdict == "allow"
    assert await codes(root) == ["denied"]


async def test_p7_what_cannot_be_counted_is_not_explained(tmp_path):
    root = write_files(tmp_path, FILES)
    (root / ".toolrt").mkdir(mode=0o700)
    (root / ".toolrt" / "state.db").write_bytes(b"no database" * 100)
    (root / ".toolrt" / "state.db").chmod(0o600)
    async with toolrt.open(root) as runtime:
        with pytest.raises(RefusedError, match="the count is not to be had now") as refused:
            await runtime.explain("ping", {}, ANN)
    assert refused.value.code == "unavailable"
