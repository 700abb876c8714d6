"""Secrets on their way out of the gateway: in results, refusals, previews, logs (O1)."""

import json
import logging

import pytest

from toolrt.core.calls import Caller
from toolrt.core.errors import CallError, RefusedError, ToolError
from toolrt.core.redaction import Secret
from toolrt.testing import open_files, stubbed

pytestmark = pytest.mark.anyio

SECRET = "s3cret-value"
FILES = {
    "tools.d/t.yaml": """\
tools:
  t:
    description: T.
    parameters: {n: {type: integer, required: false}}
    http: {url: "http://127.0.0.1:9/x", headers: {X-Key: "${caller:key}", X-Pin: "${env:PIN}"}}
    effect: read
    retry: none
"""
}
CALLER = Caller("ann", credentials={"key": Secret(SECRET)})
ENVIRON = {"PIN": "12345678"}


async def told(answer, arguments=None):
    """The document of a call whose binding answers so, after one that used the secrets."""
    async with open_files(FILES, environ=ENVIRON) as rt:
        await rt.call("t", {}, CALLER)
        with stubbed(rt, {"t": answer}):
            result = await rt.call("t", arguments or {}, CALLER)
    return json.dumps(result.document())


async def test_o1_credential_of_a_caller_never_comes_back():
    shown = await told(lambda _: {"echo": [f"key {SECRET}"], SECRET: "x"})

    assert "***" in shown
    assert SECRET not in shown


async def test_o1_secret_never_comes_back_as_a_number():
    shown = await told(lambda _: {"pin": 12345678, "pins": [112345678, 1.5], "n": 7})

    assert json.loads(shown)["data"] == {"pin": "***", "pins": ["***", 1.5], "n": 7}


async def test_o1_error_shows_no_secret_in_any_part():
    def fail(_):
        raise ToolError(SECRET, hint=SECRET, details={SECRET: [12345678, f"<{SECRET}>"]})

    shown = await told(fail)

    assert SECRET not in shown
    assert "12345678" not in shown


async def test_o1_refusal_shows_no_secret():
    assert "12345678" not in await told(lambda _: 1, {"n": "x12345678"})


async def test_o1_note_of_a_changed_argument_shows_no_secret():
    tool = FILES["tools.d/t.yaml"] + "    coerce: safe\n"
    async with open_files({"tools.d/t.yaml": tool}, environ=ENVIRON) as rt:
        with stubbed(rt, {"t": lambda _: 1}):
            result = await rt.call("t", {"n": "12345678"}, CALLER)

    assert result.context["notes"]
    assert "12345678" not in json.dumps(result.document())


async def test_o1_unknown_name_is_masked_everywhere(caplog):
    async with open_files(FILES, environ=ENVIRON) as rt:
        with caplog.at_level(logging.INFO, "toolrt.calls"):
            result = await rt.call("t12345678", {})
            refused = rt.refuse("t12345678", RefusedError("no 12345678", code="not-found"))

    assert result.tool == refused.tool == "t***"
    for each in (result, refused):
        assert "12345678" not in json.dumps(each.document())
    assert "12345678" not in caplog.text


async def test_o1_preview_shows_no_secret():
    async with open_files(FILES, environ=ENVIRON) as rt:
        shown = await rt.preview("t", {"n": 12345678}, CALLER)
        with pytest.raises(CallError) as refused:
            await rt.preview("t", {"n": "x12345678"}, CALLER)

    assert "12345678" not in json.dumps(shown)
    assert "12345678" not in refused.value.message
    assert "12345678" not in json.dumps(refused.value.details)


async def test_secret_of_a_command_reaches_the_object_of_an_async_method(tmp_path):
    vault = tmp_path / "vault.sh"
    vault.write_text('#!/bin/sh\necho "$1-value"\n')
    vault.chmod(0o755)
    files = {
        "toolrt.yaml": f"secrets: [{{command: [{vault}]}}]\n",
        "clients_of_secrets.py": CLIENT,
        "tools.d/t.yaml": """\
tools:
  t:
    description: T.
    parameters: {}
    python: {object: "clients_of_secrets:Client", call: size, init: {key: "${secret:s3cret}"}}
    effect: read
""",
    }
    async with open_files(files) as rt:
        result = await rt.call("t", {})

    assert result.data == len(SECRET)


CLIENT = """\
class Client:
    def __init__(self, key: str) -> None:
        self._key = key

    async def size(self) -> int:
        return len(self._key)
"""


SENSITIVE = """\
tools:
  login:
    description: Log in.
    parameters:
      user: string
      password: {type: string, sensitive: true}
      pin: {type: integer, sensitive: true, required: false}
      card:
        type: object
        required: false
        additionalProperties: false
        properties: {kind: {type: string}, number: {type: string, sensitive: true}}
    command: [echo, "{{ user }}"]
    effect: read
"""
GIVEN = {
    "user": "ann",
    "password": "correct horse",
    "pin": 4711,
    "card": {"kind": "visa", "number": "4111-2222"},
}


def refusing(_):
    raise ToolError(
        "correct horse of ann is wrong, pin=4711, card 4111-2222 (visa)",
        hint="not 'correct horse'",
        details={"tried": ["correct horse", 4711, {"4111-2222": "<correct horse>"}], "n": 471},
    )


async def test_o1_an_error_of_a_tool_shows_no_sensitive_argument_in_any_part():
    async with open_files({"tools.d/t.yaml": SENSITIVE}) as rt:
        with stubbed(rt, {"login": refusing}):
            result = await rt.call("login", GIVEN)

    assert result.error.message == "*** of ann is wrong, pin=***, card *** (visa)"
    assert result.error.hint == "not '***'"
    assert result.error.details == {"tried": ["***", "***", {"***": "<***>"}], "n": 471}


async def test_o1_what_is_kept_of_an_approved_run_shows_no_secret_and_no_sensitive_argument():
    def fail(_):
        raise ToolError("correct horse", details={"key": "12345678", "odd": object()})

    asks = SENSITIVE + "    hitl: confirm\n"
    files = {"tools.d/t.yaml": asks + FILES["tools.d/t.yaml"].removeprefix("tools:\n")}
    async with open_files(files, environ=ENVIRON) as rt:
        await rt.call("t", {}, CALLER)
        approval = (await rt.call("login", GIVEN)).pause.approval_id
        boss = Caller("boss", may=frozenset({"approve"}))
        await rt.approvals.approve(approval, boss)
        with stubbed(rt, {"login": fail}):
            result = await rt.approvals.run(approval)
        record = await rt.approvals.get(approval)

    assert result.error.code == "execution-failed"
    assert record.state == "failed"
    assert "correct horse" not in record.outcome
    assert "12345678" not in record.outcome
    assert json.loads(record.outcome)["error"]["message"] == "***"
