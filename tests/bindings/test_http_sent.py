"""What an http tool does to the world when the connection fails, seen through the pipeline."""

import pytest

import toolrt
from tests.loopback import RESET, json_reply, loopback, refused_port

pytestmark = pytest.mark.anyio

TOOLS = """\
defaults: {{retry: {{initial: 1ms}}}}
tools:
  pay:
    description: Pay.
    parameters: {{}}
    http: {{url: "{url}/pay", method: POST, json: {{amount: 5}}}}
  put:
    description: Put.
    parameters: {{}}
    http: {{url: "{url}/put", method: PUT, json: {{amount: 5}}}}
  look:
    description: Look.
    parameters: {{}}
    http: {url}/look
"""


def project(folder, url):
    (folder / "tools.d").mkdir()
    (folder / "tools.d" / "t.yaml").write_text(TOOLS.format(url=url))
    return toolrt.open(folder)


async def test_e5_a_server_that_reads_the_body_and_resets_gets_a_post_once(tmp_path):
    async with loopback(RESET) as server, project(tmp_path, server.url) as runtime:
        result = await runtime.call("pay", {})

    assert result.error.code == "unknown-outcome"
    assert result.error.details["outcome"] == "unknown"
    assert [(each.target, each.body) for each in server.heard] == [("/pay", b'{"amount":5}')]


@pytest.mark.parametrize("tool", ["put", "look"])
async def test_e5_a_server_that_resets_gets_an_idempotent_request_again(tool, tmp_path):
    async with loopback(RESET) as server, project(tmp_path, server.url) as runtime:
        result = await runtime.call(tool, {})

    assert (result.status, result.attempts) == ("error", 3)
    assert len(server.heard) == 3
    assert server.heard[0] == server.heard[1] == server.heard[2]


async def test_e5_a_refused_connection_is_tried_again_for_any_method(tmp_path):
    async with project(tmp_path, f"http://127.0.0.1:{refused_port()}") as runtime:
        result = await runtime.call("pay", {})

    assert result.attempts == 3
    assert result.error.code == "execution-failed"
    assert "outcome" not in result.error.details


@pytest.mark.parametrize(("tool", "heard"), [("pay", 2), ("look", 3)])
async def test_a_connection_that_closes_on_its_second_request(tool, heard, tmp_path):
    def answer(_heard):
        return b"" if len(server.heard) == 2 else json_reply("1")

    async with loopback(answer) as server, project(tmp_path, server.url) as runtime:
        first, second = [await runtime.call(tool, {}) for _ in range(2)]

    assert first.data == 1
    assert len(server.heard) == heard
    assert second.status == ("error" if tool == "pay" else "success")
    if tool == "pay":
        assert second.error.code == "unknown-outcome"


async def test_e4_a_503_is_tried_again_for_a_read_and_not_for_a_write(tmp_path):
    async with (
        loopback(json_reply("{}", 503)) as server,
        project(tmp_path, server.url) as runtime,
    ):
        read = await runtime.call("look", {})
        write = await runtime.call("pay", {})

    assert server.lines == ["GET /look"] * 3 + ["POST /pay"]
    assert (read.attempts, write.attempts) == (3, 1)
    assert read.error.message == "the service answered 503"
    assert write.error.message == "the service answered 503; it is not known whether it took effect"
