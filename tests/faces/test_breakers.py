"""`toolrt breakers`, and what lists say of tools that are not called for now (B8)."""

import json

import pytest
from bank import identities, identity

from toolrt.faces.cli.caller import _os_user

TOOLS = """
tools:
  down: {description: Is down., command: ['false'], breaker: {failures: 1, recovery: 10m}, retry: none}
  gone: {description: Is hidden., command: ['false'], breaker: {failures: 1, hide: true}, retry: none}
  list: {description: Lists., http: {url: /list, target: shop}, breaker: {failures: 2}}
  look: {description: Looks., http: {url: /look, target: shop}, breaker: {failures: 2}}
  plain: {description: Plain., command: ['true'], rate: 60/1m, concurrency: serial}
targets: {shop: {url: "http://127.0.0.1:9"}}
"""


@pytest.fixture
def failing(project, invoke):
    (project / "tools.d" / "t.yaml").write_text(TOOLS)
    for tool in ("down", "gone"):
        assert invoke("run", tool).exit_code == 1
    return project


def breakers(shown):
    return {each["name"]: each for each in json.loads(shown.stdout)["breakers"]}


def test_without_a_breaker_there_is_nothing_to_list(invoke):
    shown = invoke("breakers", "list")

    assert (shown.exit_code, shown.stdout) == (0, "")
    assert shown.stderr == "no tool declares a `breaker`\n"


def test_looking_makes_no_store(project, invoke):
    (project / "tools.d" / "t.yaml").write_text(TOOLS)

    shown = invoke("breakers", "list")
    assert shown.stdout.splitlines()[0].split() == ["down", "closed"]
    assert invoke("list").exit_code == 0
    assert not (project / ".toolrt").exists()


def test_each_breaker_is_listed_once_with_its_tools(failing, invoke):
    shown = invoke("breakers", "list")

    rows = [line.split("  ") for line in shown.stdout.splitlines()]
    down, gone, shop = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert down == ["down", "open", "tried again in 10 minutes, after execution-failed"]
    assert gone == ["gone", "open", "tried again in 5 minutes, after execution-failed"]
    assert shop == ["shop", "closed", "list, look"]


def test_json_has_all_that_is_known(failing, invoke):
    found = breakers(invoke("breakers", "list", "-o", "json"))

    down = found["down"]
    assert 590 < down.pop("retry_after_s") <= 600
    assert down == {
        "kind": "tool", "name": "down", "tenant": None, "state": "open", "failures": 0, "failed_trials": 0,
        "why": "execution-failed", "tools": ["down"],
        "settings": {"failures": 1, "recovery": 600.0, "ratio": 0.5, "window": 60.0, "hide": False,
                     "by": "target"},
    }  # fmt: skip
    assert (found["shop"]["kind"], found["shop"]["tools"]) == ("target", ["list", "look"])


def test_b8_lists_say_why_or_leave_it_out_where_it_hides(failing, invoke):
    text = invoke("list").stdout
    assert "[unavailable: circuit open, tried again in 10 minutes] Is down." in text
    assert "gone" not in text
    listed = {
        each["name"]: each for each in json.loads(invoke("list", "-o", "json").stdout)["tools"]
    }
    assert "gone" not in listed
    assert (listed["down"]["available"], listed["plain"]["available"]) == (False, True)
    assert listed["down"]["reason"] == "circuit open, tried again in 10 minutes"


def test_show_tells_what_bounds_a_tool_and_that_it_is_not_called(failing, invoke):
    text = invoke("show", "down").stdout
    assert "unavailable  circuit open, tried again in 10 minutes" in text
    assert "opens after 1 failure in a row, or 50% of 10 or more calls in 1m" in text
    plain = invoke("show", "plain").stdout
    assert "rate         at most 60 in 1m" in plain
    assert "concurrency  at most 1 at once" in plain
    assert json.loads(invoke("show", "gone", "-o", "json").stdout)["available"] is False


def test_a_refused_run_ends_with_8_and_names_the_next_command(failing, invoke):
    shown = invoke("run", "down")

    assert shown.exit_code == 8
    assert shown.stderr.splitlines() == [
        "error[circuit-open]: `down` is not called for now: it has failed too often (circuit open)",
        "hint: nothing ran; try again in 10 min, or use another tool",
        "try: toolrt breakers list",
    ]


def test_reset_closes_it_and_the_journal_knows_who_did(failing, invoke):
    shown = invoke("breakers", "reset", "down")
    assert (shown.exit_code, shown.stdout) == (0, "down  reset: it is called again\n")
    assert invoke("run", "down").exit_code == 1
    assert invoke("breakers", "reset", "list").stdout == "shop  nothing stood against it\n"
    history = invoke("history", "list").stdout
    assert "breaker reset" in history
    assert "breaker opened" in history


def test_reset_of_what_is_no_breaker_names_the_nearest(failing, invoke):
    shown = invoke("breakers", "reset", "dwon")

    assert shown.exit_code == 7
    assert "did you mean `down`?" in shown.stderr


def test_reset_is_for_those_who_may_admin(failing, invoke):
    identities(failing, identity(_os_user(), "call", "approve"))

    shown = invoke("breakers", "reset", "down")
    assert shown.exit_code == 4
    assert "may reset no breakers" in shown.stderr
    assert breakers(invoke("breakers", "list", "-o", "json"))["down"]["state"] == "open"


def test_a_broken_store_is_told_of_and_lists_go_on(failing, invoke):
    (failing / ".toolrt" / "state.db").write_bytes(b"this is no database" * 100)

    shown = invoke("list")
    assert shown.exit_code == 0
    assert "breakers are shown as if closed" in shown.stderr
    assert "gone" in shown.stdout


OF_TENANTS = """
tools:
  down: {description: Is down., command: ['false'], breaker: {failures: 1, by: tenant}, retry: none}
"""


def test_b6_breakers_of_tenants_are_told_apart(project, invoke):
    (project / "tools.d" / "t.yaml").write_text(OF_TENANTS)
    me, ann = identity(_os_user(), "call", "admin"), identity("ann", "call")
    identities(project, me, ann | {"tenant": "acme"})
    assert invoke("run", "down", "--as", "ann@acme").exit_code == 1

    rows = [line.split("  ")[:2] for line in invoke("breakers", "list").stdout.splitlines()]
    assert [[cell.strip() for cell in row if cell.strip()] for row in rows][1][0] == "down for acme"
    assert "unavailable" not in invoke("list").stdout
    assert "circuit open" in invoke("list", "--as", "ann@acme").stdout
    assert invoke("breakers", "reset", "down").stdout == "down  reset: it is called again\n"
    assert "circuit open" not in invoke("list", "--as", "ann@acme").stdout
