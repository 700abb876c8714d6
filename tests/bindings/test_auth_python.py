"""`auth.python`: a callable signs; what it gives is checked and secret, its failure sends nothing."""

import json
import threading

import pytest

from tests.http_tool import HttpTool
from tests.loopback import json_reply, loopback
from toolrt.bindings.http import check_target
from toolrt.core.calls import Caller
from toolrt.manifest.target import Target
from toolrt.testing import open_files

pytestmark = pytest.mark.anyio

CODE = """
import threading

import toolrt


def signed(caller, target):
    return {"X-Who": f"{caller.principal}@{target}-signed", "x-thread": threading.current_thread().name}


async def token(caller, target):
    return "bearer-for-" + caller.principal


def plain(caller, target):
    return {"authorization": "Key value-that-is-secret", "X-Mine": "over-the-manifest"}


def gives(value):
    def fn(caller, target):
        return value
    return fn


nothing, empty, blank, number = gives(None), gives({}), gives(""), gives(5)
listed, wrong_type, crlf = gives(["a"]), gives({"X-A": 5}), gives({"X-A": "long-secret\\r\\nX-B: 1"})
host, odd_name, unicode_, missing_text = gives({"Host": "evil"}), gives({"a b": "c"}), gives({"X-A": "é"}), gives({"X-A": ""})
length = gives({"Content-Length": "5"})


def broken(caller, target):
    raise ValueError("the key is hunter2-hunter2")


def meant(caller, target):
    raise toolrt.ToolError("sign in first", code="access-denied", hint="call login")


calls = []


def flaky(caller, target):
    calls.append(target)
    if len(calls) < 2:
        raise ConnectionError("vault down")
    return "tok-after-all"


def stops(caller, target):
    raise SystemExit(3)


def one(caller):
    return "x"


class Kit:
    pass
"""


def project(url, fn, method="GET", headers="{X-Mine: manifest}"):
    return {
        "kit.py": CODE,
        "tools.d/t.yaml": f"""
            targets: {{api: {{url: {url}, auth: {{python: "kit:{fn}"}}, headers: {headers}}}}}
            tools:
              t: {{description: T., http: {{target: api, url: /x, method: {method}}}}}
            """,
    }


async def heard(fn, caller=None, **more):
    async with (
        loopback(lambda heard: json_reply(json.dumps(dict(heard.headers)))) as server,
        open_files(project(server.url, fn, **more)) as rt,
    ):
        result = await rt.call("t", {}, caller or Caller("ada"))
        return result, server.heard


async def test_a_function_gets_caller_and_target_and_runs_off_the_loop():
    result, (request,) = await heard("signed")
    assert request.headers["x-who"] == "ada@api-signed"
    assert request.headers["x-thread"] != threading.main_thread().name
    assert result.data["x-who"] == "***"


async def test_a_text_is_a_bearer_token_and_a_coroutine_is_awaited():
    result, (request,) = await heard("token")
    assert request.headers["authorization"] == "Bearer bearer-for-ada"
    assert "bearer-for-ada" not in json.dumps(result.document())


async def test_what_it_gives_wins_over_the_manifest_under_any_spelling():
    result, (request,) = await heard("plain")
    assert request.headers["x-mine"] == "over-the-manifest"
    assert "value-that-is-secret" not in json.dumps(result.document())


@pytest.mark.parametrize(
    "fn",
    ["nothing", "empty", "blank", "number", "listed", "wrong_type", "crlf", "host", "odd_name",
     "unicode_", "missing_text", "length"],
)  # fmt: skip
async def test_h5_what_cannot_sign_a_request_sends_none(fn):
    result, requests = await heard(fn, method="POST")
    assert (result.error.code, requests) == ("missing-credential", [])
    assert "long-secret" not in json.dumps(result.document())


async def test_what_it_raises_is_not_told_and_sends_nothing():
    result, requests = await heard("broken", method="POST")
    assert (result.error.code, result.error.retryable, requests) == (
        "missing-credential", False, [],
    )  # fmt: skip
    assert result.error.message == "the credential of this tool could not be made: ValueError"
    assert "hunter2" not in json.dumps(result.document())


async def test_one_that_ends_the_process_ends_its_call():
    result, requests = await heard("stops")
    assert (result.error.code, requests) == ("missing-credential", [])


async def test_what_its_author_means_to_say_is_told():
    result, requests = await heard("meant")
    assert (result.error.code, result.error.hint, requests) == ("access-denied", "call login", [])
    assert result.error.message.endswith("sign in first")


async def test_it_is_asked_again_when_the_world_failed_it():
    result, requests = await heard("flaky", method="POST")
    assert (result.status, len(requests)) == ("success", 1)
    assert requests[0].headers["authorization"] == "Bearer tok-after-all"


async def test_a_401_is_not_answered_with_another_try():
    async with (
        loopback(json_reply("{}", 401)) as server,
        open_files(project(server.url, "token")) as rt,
    ):
        result = await rt.call("t", {})
    assert (result.error.code, len(server.heard)) == ("access-denied", 1)


async def test_a_preview_calls_nothing():
    async with (
        loopback(json_reply("{}")) as server,
        open_files(project(server.url, "broken")) as rt,
    ):
        shown = await rt.preview("t", {})
    assert shown["request"]["auth"] == "kit:broken"
    assert server.heard == []


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("kit:nowhere", "import-failed"),
        ("nokit:fn", "import-failed"),
        ("kit", "import-failed"),
        ("kit:one", "signature-drift"),
        ("kit:Kit", "not-callable"),
        ("kit:calls", "not-callable"),
    ],
)
def test_what_cannot_be_called_is_a_fault(tmp_path, name, code):
    (tmp_path / "kit.py").write_text(CODE)
    tool = HttpTool("https://api.example.com/", project=tmp_path)
    target = {"url": "https://api.example.com", "auth": {"python": name}}
    check_target(Target.model_validate(target), tool.context)
    assert tool.faults == [(code, ("auth", "python"))]


async def test_a_tool_of_a_target_at_fault_sends_nothing(tmp_path):
    (tmp_path / "kit.py").write_text(CODE)
    async with loopback(json_reply("{}")) as server:
        targets = {"api": {"url": server.url, "auth": {"python": "kit:nowhere"}}}
        tool = HttpTool({"url": "/x", "target": "api"}, targets=targets, project=tmp_path)
        with pytest.raises(Exception, match="at fault") as failed:
            await tool.call()
    assert (failed.value.code, server.heard) == ("missing-credential", [])


async def test_without_imports_the_tool_is_unavailable(tmp_path):
    targets = {"api": {"url": "https://api.example.com", "auth": {"python": "kit:token"}}}
    tool = HttpTool(
        {"url": "/x", "target": "api"}, targets=targets, project=tmp_path, imports=False
    )
    assert tool.unavailable == "it was loaded without imports"
