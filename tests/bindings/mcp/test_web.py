"""Servers that are reached by a URL, over our own client and under its guard."""

import asyncio
import shutil
import sys

import pytest
from bindings.mcp.desk import compiled, opened
from faces.mcp.serving import served
from loopback import RESET, json_reply, loopback, reply
from mcp_project import until

from toolrt.manifest.target import Target
from toolrt.testing import write_files

pytestmark = [pytest.mark.anyio, pytest.mark.realtime]

TOOLS = """
tools:
  greet:
    description: Greet somebody.
    parameters: {name: string}
    command: [printf, "hello %s", "{{ name }}"]
    effect: read
  nap:
    description: Sleep.
    parameters: {}
    command: [sleep, "30"]
    effect: read
"""
INITIALIZED = (
    '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},'
    '"serverInfo":{"name":"x","version":"1"}}}'
)


def project(folder):
    return write_files(folder / "peer", {"tools.d/a.yaml": TOOLS})


async def test_a_server_at_a_url_is_listed_and_called(tmp_path):
    async with served(project(tmp_path)) as site, opened(tmp_path, url=site.url) as desk:
        assert await desk.names() == ["greet", "nap"]
        assert await desk.call("greet", name="Ada") == "hello Ada"
        failed = await desk.failure("greet")

    assert failed.code == "execution-failed"


async def test_a_call_that_is_cancelled_ends_at_once(tmp_path):
    async with served(project(tmp_path)) as site, opened(tmp_path, url=site.url) as desk:
        await desk.names()
        calling = asyncio.create_task(desk.call("nap"))
        await asyncio.sleep(0.3)
        calling.cancel()
        done, _ = await asyncio.wait([calling], timeout=0.1)
        assert done
        assert await desk.call("greet", name="B") == "hello B"


async def test_a_changed_list_is_heard_of_over_http(tmp_path):
    peer = project(tmp_path)
    async with served(peer) as site, opened(tmp_path, url=site.url) as desk:
        await desk.names()
        heard = asyncio.Event()
        desk.servers.on_change(heard.set)
        (peer / "tools.d" / "a.yaml").write_text(TOOLS.replace("greet:", "welcome:"))
        await site.runtime.reload()
        async with asyncio.timeout(10):
            await heard.wait()
        listing = desk.servers.listing(desk.server)

    assert [each.name for each in listing.tools] == ["nap", "welcome"]


async def test_a_server_that_is_not_there_is_a_reason_without_its_host(tmp_path):
    async with opened(tmp_path, url="http://127.0.0.1:9/mcp") as desk:
        assert await desk.names() is None
        failed = await desk.failure("x")

    assert failed.code == "unavailable"
    assert "127" not in failed.message


async def test_a_server_that_comes_back_after_a_while_is_found_by_itself(tmp_path):
    async with served(project(tmp_path)) as site:
        port = int(site.url.rpartition(":")[2].partition("/")[0])
    async with opened(tmp_path, url=f"http://127.0.0.1:{port}/mcp") as desk:
        assert await desk.names() is None
        async with served(tmp_path / "peer", port=port):
            await until(lambda: not desk.servers.fault(desk.server))
            assert await desk.call("greet", name="C") == "hello C"


def answered(heard):
    """Just enough of a server of the old era."""
    if b'"initialize"' in heard.body:
        number = heard.body.partition(b'"id":')[2].partition(b",")[0].rstrip(b"}").decode()
        return json_reply(INITIALIZED % number)
    if b'"tools/list"' in heard.body:
        number = heard.body.partition(b'"id":')[2].partition(b",")[0].rstrip(b"}").decode()
        return json_reply(f'{{"jsonrpc":"2.0","id":{number},"result":{{"tools":[]}}}}')
    return json_reply("{}", 404 if b"discover" in heard.body else 202)


HOSTILE = {
    "endless": json_reply('{"jsonrpc":"2.0","id":1,"result":{"a":"' + "x" * 6_000_000 + '"}}'),
    "deep": json_reply('{"jsonrpc":"2.0","id":1,"result":' + "[" * 100_000 + "]" * 100_000 + "}"),
    "no JSON": json_reply("<html>"),
    "nothing": json_reply(""),
    "events": reply("data: x\n\n" * 1000, content_type="text/event-stream"),
    "one event": reply("data: " + "x" * 7_000_000, content_type="text/event-stream"),
    "redirect": b"HTTP/1.1 307 Moved\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
    "reset": RESET,
}


@pytest.mark.parametrize("answer", HOSTILE.values(), ids=HOSTILE)
async def test_a_server_that_answers_nonsense_is_a_reason_and_no_more(tmp_path, answer):
    async with loopback(answer) as site, opened(tmp_path, url=site.url) as desk:
        async with asyncio.timeout(20):
            assert await desk.names() is None
        fault = desk.servers.fault(desk.server)

    assert fault
    assert "127.0.0.1" not in fault


async def test_x4_a_server_gets_the_credential_of_its_target_and_no_other(tmp_path):
    async with loopback(answered) as site:
        target = Target(
            url=f"{site.url}/mcp", headers={"X-Team": "blue"}, auth={"bearer": "${env:KEY}"}
        )
        options = {"targets": {"peer": target}, "environ": {"KEY": "s3cret", "OTHER": "no"}}
        async with opened(tmp_path, target="peer", **options) as desk:
            assert await desk.names() == []

    assert site.heard
    for heard in site.heard:
        assert heard.headers["authorization"] == "Bearer s3cret"
        assert heard.headers["x-team"] == "blue"
        assert heard.target == "/mcp"


async def test_a_server_that_does_not_know_us_says_so(tmp_path):
    async with loopback(json_reply("{}", 401)) as site, opened(tmp_path, url=site.url) as desk:
        assert await desk.names() is None
        assert desk.servers.fault(desk.server) == "the server does not know us"


@pytest.mark.parametrize("address", ["http://169.254.169.254/mcp", "http://[fd00:ec2::254]/mcp"])
def test_addresses_of_a_clouds_metadata_are_refused(tmp_path, address):
    server, faults, _ = compiled(tmp_path, url=address)

    assert server is None
    assert [each.code for each in faults] == ["blocked-target"]


async def test_a_name_that_leads_inside_is_not_dialled(tmp_path):
    async with opened(tmp_path, url="http://localhost.example.invalid:9/mcp") as desk:
        assert await desk.names() is None

    assert desk.notes() == []


async def test_a_redirect_elsewhere_is_not_followed(tmp_path):
    async with loopback(answered) as other:
        moved = f"HTTP/1.1 307 Moved\r\nLocation: {other.url}/\r\nContent-Length: 0\r\n\r\n"
        async with loopback(moved.encode()) as site, opened(tmp_path, url=site.url) as desk:
            assert await desk.names() is None

    assert other.heard == []


def test_nothing_of_a_caller_may_open_a_connection(tmp_path):
    target = Target(url="http://a.b", auth={"bearer": "${caller:github}"})
    server, faults, _ = compiled(tmp_path, {"peer": target}, target="peer")

    assert server is None
    assert faults[-1].code == "caller-in-connection"


def test_variables_of_a_caller_are_refused_too(tmp_path):
    _, faults, _ = compiled(tmp_path, command=["./x"], env={"T": "${caller:github}"})

    assert "caller-in-connection" in [each.code for each in faults]


@pytest.mark.parametrize(
    "name",
    [
        "NODE_OPTIONS",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "npm_config_script_shell",
        "npm_config_script-shell",
        "npm_config_userconfig",
        "PYTHONPATH",
        "PYTHONWARNINGS",
        "GIT_CONFIG_COUNT",
        "DOCKER_CONFIG",
        "BASH_FUNC_x%%",
    ],
)
def test_u62_variables_that_run_other_code_first_are_refused(tmp_path, name):
    server, faults, _ = compiled(tmp_path, command=["npx", "x"], env={name: "x", "PLAIN": "y"})

    assert server is None
    assert [(each.code, each.path) for each in faults] == [("refused-command", ("env", name))]


@pytest.mark.parametrize(
    "text", ["./bin", "bin:/usr/bin", "{project}/bin:/usr/bin", "/usr/../{project}"]
)
@pytest.mark.parametrize("name", ["PATH", "HOME"])
def test_u62_folders_of_the_project_stand_in_for_no_program(tmp_path, name, text):
    written = text.format(project=tmp_path)
    server, faults, _ = compiled(tmp_path, command=["npx", "x"], env={name: written})

    assert server is None
    assert [(each.code, each.path) for each in faults] == [("refused-command", ("env", name))]


def test_folders_outside_of_the_project_and_harmless_variables_are_let_be(tmp_path):
    env = {"PATH": "/opt/node/bin:${env:PATH}", "HOME": "/srv/home", "PYTHONUNBUFFERED": "1"}
    server, faults, _ = compiled(tmp_path, command=["npx", "x"], env=env)

    assert (server is not None, faults) == (True, [])


@pytest.mark.parametrize(
    ("program", "words"), [("sh", ["-c", "x"]), ("sleep", ["5"]), ("python3", ["-c", "x"])]
)
def test_u62_a_file_of_the_project_that_is_a_link_is_what_it_leads_to(tmp_path, program, words):
    (tmp_path / "x").symlink_to(shutil.which(program))
    server, faults, _ = compiled(tmp_path, command=["./x", *words])

    assert server is None
    assert [(each.code, each.path) for each in faults] == [("refused-command", ("command", 0))]


def test_a_link_inside_of_the_project_and_one_to_an_interpreter_start_servers(tmp_path):
    (tmp_path / "real").write_text("#!/bin/sh\n")
    (tmp_path / "real").chmod(0o755)
    (tmp_path / "inside").symlink_to("real")
    (tmp_path / "python").symlink_to(sys.executable)
    faults = [
        compiled(tmp_path, command=command)[1]
        for command in (["./inside"], ["./python", "server.py"])
    ]

    assert faults == [[], []]
