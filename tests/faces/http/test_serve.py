"""`toolrt serve` and `toolrt reload` as processes: start line, keys, signals, workers."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import warm
from click.testing import CliRunner, Result
from served import FILES, PEOPLE

from toolrt.faces.cli.main import cli
from toolrt.testing import write_files

pytestmark = pytest.mark.realtime
ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_files(tmp_path / "project", FILES)


def command(project: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "toolrt", "-p", str(project), *arguments]


def environment(**more: str) -> dict[str, str]:
    usual = {k: v for k, v in os.environ.items() if not k.startswith("TOOLRT_")}
    return {**usual, "PYTHONPATH": str(ROOT), **more}


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    return subprocess.run(
        [str(warm.folder() / "toolrt"), "-p", str(project), *arguments],
        capture_output=True, text=True, timeout=60, env=environment(), check=False,
    )  # fmt: skip


def refused(project: Path, *arguments: str) -> Result:
    """A start that comes to nothing, in this process."""
    return CliRunner().invoke(cli, ["-p", str(project), "serve", "--port", "0", *arguments])


@contextmanager
def serving(
    project: Path, *arguments: str, **more: str
) -> Iterator[tuple[dict[str, Any], "subprocess.Popen[str]"]]:
    """A server, once it has told its start."""
    started = subprocess.Popen(
        command(project, "-o", "json", "serve", "--port", "0", *arguments),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**more),
    )  # fmt: skip
    try:
        assert started.stdout
        lines: list[str] = []
        while not lines or lines[-1] not in {"}\n", ""}:
            lines.append(started.stdout.readline())
        if lines[-1] == "":
            raise AssertionError(started.stderr and started.stderr.read())
        yield json.loads("".join(lines)), started
    finally:
        started.terminate()
        try:
            started.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            started.kill()
            started.communicate()


def key_of(told: dict[str, Any]) -> dict[str, str]:
    key = json.loads(Path(told["key_file"]).read_text())["key"]
    return {"Authorization": f"Bearer {key}"}


def call(told: dict[str, Any], tool: str = "t.add", **arguments: Any) -> httpx.Response:
    body = {"arguments": arguments or {"a": 1}}
    return httpx.post(f"{told['url']}/v1/tools/{tool}/call", json=body, timeout=20)


@contextmanager
def news(project: Path) -> Iterator[Callable[[int], None]]:
    """Has `t.nap` tell when it begins; gives what waits for so many of them."""
    pipe = project / "began"
    os.mkfifo(pipe)
    told = "async def nap(seconds: float) -> str:\n"
    write = f"{told}    with open({str(pipe)!r}, 'w') as pipe:\n        pipe.write('x')\n"
    write_files(project, {"sums.py": FILES["sums.py"].replace(told, write)})
    reader = os.open(pipe, os.O_RDWR)

    def begun(count: int) -> None:
        for _ in range(count):
            os.read(reader, 1)

    try:
        yield begun
    finally:
        os.close(reader)


def told_of(process: "subprocess.Popen[str]", word: str) -> str:
    """The line of stderr that has a word, once it is there."""
    assert process.stderr
    return next(line for line in process.stderr if word in line)


def asked_until(ask: Callable[[], bool]) -> None:
    """Ask again and again, each time over the wire, until it is so. Raises AssertionError."""
    ends = time.monotonic() + 20
    while not ask():
        assert time.monotonic() < ends, "it never came to that"


def test_a_start_tells_where_and_x6_its_key_is_a_private_file_that_goes_with_it(
    project: Path,
) -> None:
    with serving(project) as (told, process):
        path = Path(told["key_file"])
        mode = path.stat().st_mode & 0o777
        reply = call(told)
        closed = httpx.get(f"{told['url']}/v1/calls")
        inside = httpx.get(f"{told['url']}/v1/calls", headers=key_of(told))
        process.terminate()
        status = process.wait(20)

    assert (told["tools"], told["generation"], told["workers"]) == (4, 1, 1)
    assert told["url"] == f"http://127.0.0.1:{told['port']}"
    assert mode == 0o600
    assert (reply.status_code, closed.status_code, inside.status_code) == (200, 401, 200)
    assert status == 0
    assert not path.exists()


def test_two_starts_have_two_keys(project: Path) -> None:
    with serving(project) as (one, _), serving(project) as (two, _):
        assert key_of(one) != key_of(two)
        assert httpx.get(f"{two['url']}/v1/calls", headers=key_of(one)).status_code == 401


def test_x5_a_public_address_without_people_is_refused(project: Path) -> None:
    for arguments in (["--host", "0.0.0.0"], ["--public-url", "https://tools.example.com"]):
        done = refused(project, *arguments)

        assert done.exit_code == 2
        assert "no identity says who they are" in done.stderr
    (project / "toolrt.yaml").write_text(PEOPLE)
    with serving(project, "--host", "0.0.0.0") as (told, _):
        url = f"http://127.0.0.1:{told['port']}/v1/tools"
        nobody = httpx.get(url)
        bot = httpx.get(url, headers={"Authorization": "Bearer bot-key"})

    assert (nobody.status_code, bot.status_code) == (401, 200)


def test_flags_count_before_the_environment_and_that_before_the_file(project: Path) -> None:
    (project / "toolrt.yaml").write_text(f"{PEOPLE}serve: {{public_url: 'https://file.example'}}\n")
    env = {"TOOLRT_PUBLIC_URL": "https://env.example"}
    with serving(project) as (file, _):
        pass
    with serving(project, **env) as (environ, _):
        pass
    with serving(project, "--public-url", "https://flag.example/", **env) as (flag, _):
        pass

    urls = [each["url"] for each in (file, environ, flag)]
    assert urls == ["https://file.example", "https://env.example", "https://flag.example"]


def test_a_port_that_is_taken_is_told(project: Path) -> None:
    with serving(project) as (told, _):
        done = refused(project, "--port", str(told["port"]))

    assert done.exit_code == 1
    assert "cannot listen at 127.0.0.1" in done.stderr
    assert "--port 0" in done.stderr


def test_a_broken_project_ends_with_3(project: Path) -> None:
    (project / "tools.d" / "bad.yaml").write_text("tools: {x: {shel: a}}")
    alone = refused(project)
    several = subprocess.run(
        command(project, "serve", "--port", "0", "--workers", "2"),
        capture_output=True, text=True, timeout=60, env=environment(), check=False,
    )  # fmt: skip

    assert (alone.exit_code, several.returncode) == (3, 3)
    assert "bad.yaml" in alone.stderr
    assert "bad.yaml" in several.stderr


def test_term_lets_what_runs_end_and_lets_nobody_in(project: Path) -> None:
    with news(project) as begun, serving(project) as (told, process), ThreadPoolExecutor() as pool:
        calling = pool.submit(call, told, "t.nap", seconds=0.7)
        begun(1)
        process.terminate()
        asked_until(lambda: not is_open(told))
        reply = calling.result()
        status = process.wait(20)

    assert reply.json()["data"] == "rested"
    assert status == 0


def is_open(told: dict[str, Any]) -> bool:
    """Whether somebody new is let in."""
    try:
        httpx.get(f"{told['url']}/healthz")
    except httpx.HTTPError:
        return False
    return True


def test_what_does_not_end_in_time_is_cancelled(project: Path) -> None:
    with (
        news(project) as begun,
        serving(project, "--drain", "1s") as (told, process),
        ThreadPoolExecutor() as pool,
    ):
        calling = pool.submit(call, told, "t.nap", seconds=60)
        begun(1)
        started = time.monotonic()
        process.terminate()
        reply = calling.result()
        status = process.wait(20)

    assert reply.status_code == 503
    assert status == 0
    assert time.monotonic() - started < 10


_MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
_NAP = {"arguments": {"seconds": 60}}
_OF_MCP = {"jsonrpc": "2.0", "id": 7, "method": "tools/call",
           "params": {"name": "t_nap", "arguments": {"seconds": 60}, "_meta": _MODERN}}  # fmt: skip
_HEADERS = {"accept": "application/json, text/event-stream", "mcp-method": "tools/call",
            "mcp-name": "t_nap", "mcp-protocol-version": "2026-07-28"}  # fmt: skip
_RUNNING: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("/v1/tools/t.nap/call", _NAP, {}),
    ("/v1/tools/t.nap/call", _NAP, {"idempotency-key": "k1"}),
    ("/v1/tools/t.nap/call?wait=1m", _NAP, {}),
    ("/mcp", _OF_MCP, _HEADERS),
]
"""Requests that run for long, by each of the ways."""


@pytest.mark.parametrize("terms", [1, 2])
def test_what_is_cut_off_by_the_end_is_told_so_and_leaves_no_trace(
    project: Path, terms: int
) -> None:
    drain = "1s" if terms == 1 else "30s"
    with news(project) as begun, serving(project, "--drain", drain) as (told, process):

        def sent(request: tuple[str, dict[str, Any], dict[str, str]]) -> httpx.Response:
            path, body, headers = request
            return httpx.post(told["url"] + path, json=body, headers=headers, timeout=30)

        with ThreadPoolExecutor() as pool:
            sending = [pool.submit(sent, each) for each in _RUNNING]
            begun(len(_RUNNING))
            for _ in range(terms):
                process.terminate()
                asked_until(lambda: not is_open(told))
            replies = [each.result() for each in sending]
        _, log = process.communicate(timeout=20)

    *rest, mcp = replies
    assert [(each.status_code, each.json()["code"]) for each in rest] == [(503, "cancelled")] * 3
    assert (mcp.status_code, mcp.json()["id"], "error" in mcp.json()) == (503, 7, True)
    assert "Traceback" not in log
    assert process.returncode == 0


def test_what_is_written_is_in_force_and_the_difference_is_told(project: Path) -> None:
    with serving(project) as (told, process):
        (project / "tools.d" / "more.yaml").write_text(
            "tools: {more: {description: More., command: [printf, more], effect: read}}"
        )
        talk = told_of(process, "reloaded: ")
        made = httpx.post(f"{told['url']}/v1/tools/more/call", json={}).json()

    assert (made["text"], made["context"]["generation"]) == ("more", 2)
    assert "more" in talk


@pytest.mark.parametrize("workers", ["1", "2"])
def test_reload_asks_the_server_and_a_loss_has_to_be_meant(project: Path, workers: str) -> None:
    rules = "rules: [{id: never, decide: deny, tools: [t.add], when: args.a == 1}]\ndefault: allow"
    path = write_files(project, {"policies.d/p.yaml": rules}) / "policies.d" / "p.yaml"
    with serving(project, "--no-watch", "--workers", workers) as (told, _):
        path.write_text("default: allow")
        lost = run(project, "reload")
        before = {call(told).status_code for _ in range(20)}
        meant = run(project, "reload", "--accept-loss")
        asked_until(lambda: {call(told).status_code for _ in range(20)} == {200})
        after = {call(told).status_code for _ in range(20)}
    none = run(project, "reload")

    assert (lost.returncode, meant.returncode, none.returncode) == (3, 0, 7)
    assert "stays" in lost.stdout
    assert (before, after) == ({403}, {200})
    assert "no server of this project runs" in none.stderr


def test_a_server_that_was_killed_is_told_in_words(project: Path) -> None:
    with serving(project, "--no-watch") as (told, process):
        path = Path(told["key_file"])
        process.kill()
        process.wait(20)
        left = {**json.loads(path.read_text()), "pid": os.getpid()}
        path.write_text(json.dumps(left))
        done = run(project, "reload")

    assert done.returncode == 7
    assert "no server of this project runs on this machine" in done.stderr


def test_hangup_reloads(project: Path) -> None:
    with serving(project, "--no-watch") as (told, process):
        text = "tools: {more: {description: More., command: [printf, more], effect: read}}"
        (project / "tools.d" / "more.yaml").write_text(text)
        before = call(told, "more").status_code
        process.send_signal(signal.SIGHUP)
        told_of(process, "reloaded: ")
        after = httpx.post(f"{told['url']}/v1/tools/more/call", json={}).status_code

    assert (before, after) == (404, 200)


def test_workers_share_a_port_and_a_dead_one_is_replaced(project: Path) -> None:
    tools = 'tools: {who: {description: Who., python: "who:who", effect: read}}'
    who = '"""Who."""\nimport os\n\n\ndef who() -> int:\n    return os.getpid()\n'
    write_files(project, {"tools.d/w.yaml": tools, "who.py": who})

    def seen(told: dict[str, Any], found: set[int]) -> int:
        """How many have answered so far."""
        with suppress(httpx.HTTPError):
            found.add(httpx.post(f"{told['url']}/v1/tools/who/call", json={}).json()["data"])
        return len(found)

    before, after = set[int](), set[int]()
    with serving(project, "--workers", "2") as (told, process):
        asked_until(lambda: seen(told, before) == 2)
        killed = min(before)
        os.kill(killed, signal.SIGKILL)
        asked_until(lambda: seen(told, after) - (killed in after) == 2)
        process.terminate()
        status = process.wait(20)

    assert len(after - before) == 1
    assert status == 0


def test_commands_and_scripts_run_under_the_loop_of_a_server(project: Path) -> None:
    tools = """
        namespace: k
        tools:
          command: {description: C., command: [printf, one], effect: read}
          shell: {description: S., shell: "cat | wc -c", effect: read}
        """
    write_files(project, {"tools.d/k.yaml": tools})
    with serving(project) as (told, _):
        made = [
            httpx.post(f"{told['url']}/v1/tools/k.{name}/call", json={}).json()
            for name in ("command", "shell")
        ]

    assert [each["text"].strip() for each in made] == ["one", "0"]
