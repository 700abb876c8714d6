"""`toolrt pins`: the list, the diff, and what approving writes."""

import json

import pytest
from click.testing import CliRunner
from mcp_project import lists, tool, write_project

from toolrt.faces.cli.main import cli
from toolrt.faces.cli.serving import foreign_notes
from toolrt.runtime import load

pytestmark = pytest.mark.realtime


def toolrt(folder, *words):
    return CliRunner().invoke(cli, ["-p", str(folder), *words])


@pytest.fixture
def project(tmp_path):
    lists(tmp_path, "echo", "other")
    assert toolrt(write_project(tmp_path), "pins", "list").exit_code == 0
    return tmp_path


def test_a_first_sight_is_seen_and_stays_so(project):
    result = toolrt(project, "pins", "list", "-o", "json")

    pins = json.loads(result.stdout)["pins"]
    assert [(each["tool"], each["standing"]) for each in pins] == [
        ("odd.echo", "seen"),
        ("odd.other", "seen"),
    ]


def test_a_diff_without_changes_ends_with_0(project):
    result = toolrt(project, "pins", "diff")

    assert (result.exit_code, result.stdout) == (0, "")


def break_server(folder):
    (folder / "mcp_server.py").write_text("raise SystemExit('no luck')\n")


@pytest.mark.parametrize("names", [(), ("odd",), ("odd.echo",)], ids=str)
def test_x1_a_diff_without_an_answer_of_a_server_says_so_and_ends_with_1(project, names):
    break_server(project)
    result = toolrt(project, "pins", "diff", *names)

    assert result.exit_code == 1
    assert "source `odd` could not be asked" in result.stderr
    assert "nothing has changed" not in result.stderr


def test_x1_a_server_that_never_answered_is_one_that_could_not_be_asked(tmp_path):
    break_server(write_project(tmp_path))
    results = [toolrt(tmp_path, "pins", "diff", *names) for names in ((), ("odd",))]

    assert [each.exit_code for each in results] == [1, 1]
    assert all("source `odd` could not be asked" in each.stderr for each in results)


def test_x1_a_diff_as_json_names_the_servers_that_could_not_be_asked(project):
    break_server(project)
    result = toolrt(project, "pins", "diff", "-o", "json")

    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert document["pins"] == []
    assert [each["source"] for each in document["unreachable"]] == ["odd"]


def test_x1_what_has_changed_counts_beside_a_server_that_could_not_be_asked(project):
    more = (project / "tools.d" / "odd.yaml").read_text().replace("odd:", "dead:")
    (project / "tools.d" / "dead.yaml").write_text(more.replace("mcp_server.py", "no_server.py"))
    lists(project, tool("echo", description="Other."), "other")
    result, other = (toolrt(project, "pins", "diff", *names) for names in ((), ("odd",)))

    assert (result.exit_code, other.exit_code) == (10, 10)
    assert "source `dead` could not be asked" in result.stderr
    assert "dead" not in other.stderr


def test_x1_a_diff_shows_old_and_new_with_what_hides_made_visible(project):
    lists(project, tool("echo", description="Do echo.\u202e"), "other")
    result = toolrt(project, "pins", "diff")

    assert result.exit_code == 10
    assert "-description: Do echo.\n" in result.stdout
    assert "+description: Do echo.\\u202e\n" in result.stdout
    assert "other" not in result.stdout


def test_a_dry_run_writes_nothing(project):
    lists(project, tool("echo", description="Other."), "other")
    result = toolrt(project, "pins", "approve", "odd.echo", "--dry-run")

    assert result.exit_code == 0
    assert "+description: Other." in result.stdout
    assert not (project / "toolrt.lock").exists()


def test_x1_what_is_approved_can_be_called_again(project):
    lists(project, tool("echo", description="Other."), tool("other", description="Evil."))
    before = toolrt(project, "run", "odd.echo")
    assert toolrt(project, "pins", "approve", "odd.echo").exit_code == 0
    after, other = toolrt(project, "run", "odd.echo"), toolrt(project, "run", "odd.other")

    assert (before.exit_code, after.exit_code, other.exit_code) == (1, 0, 1)
    lock = json.loads((project / "toolrt.lock").read_text())
    described = {
        name: each["definition"]["description"] for name, each in lock["sources"]["odd"].items()
    }
    assert described == {"echo": "Other.", "other": "Do other."}


def test_after_that_a_new_tool_has_to_be_approved_too(project):
    toolrt(project, "pins", "approve", "odd")
    lists(project, "echo", "other", "more")
    listed = toolrt(project, "pins", "list").stdout
    refused = toolrt(project, "run", "odd.more")

    assert "unapproved" in listed
    assert "is not approved yet" in refused.stderr


def test_a_tool_that_is_gone_leaves_the_lock_with_the_next_approval(project):
    toolrt(project, "pins", "approve", "odd")
    lists(project, "echo")
    assert "gone" in toolrt(project, "pins", "list").stdout
    toolrt(project, "pins", "approve", "odd")

    assert list(json.loads((project / "toolrt.lock").read_text())["sources"]["odd"]) == ["echo"]


def test_a_name_that_nobody_has_is_told_with_the_nearest(project):
    result = toolrt(project, "pins", "diff", "odd.ecco")

    assert result.exit_code == 7
    assert "odd.echo" in result.stderr


def test_approving_nothing_by_name_is_refused(project):
    assert toolrt(project, "pins", "approve").exit_code == 2


def test_who_may_not_change_the_project_approves_nothing(project):
    (project / "toolrt.yaml").write_text(
        "identities: [{os_user: nobody, principal: boss, may: [call, approve, admin]}]\n"
    )
    result = toolrt(project, "pins", "approve", "odd")

    assert result.exit_code == 4
    assert not (project / "toolrt.lock").exists()


def test_a_lock_that_was_tampered_with_stops_the_project(project):
    toolrt(project, "pins", "approve", "odd")
    path = project / "toolrt.lock"
    path.write_text(path.read_text().replace("Do echo.", "Do evil."))
    result = toolrt(project, "run", "odd.echo")

    assert result.exit_code == 3
    assert "unreadable-lock" in result.stderr


def test_u63_who_serves_tools_of_others_is_told_so(project):
    [note] = foreign_notes(load(project, asks=True).snapshot)

    assert "tools of odd are described and run by servers of others" in note


def test_who_serves_none_is_told_nothing(tmp_path):
    write_project(tmp_path)
    (tmp_path / "tools.d" / "odd.yaml").write_text("x-none: 1\n")

    assert list(foreign_notes(load(tmp_path).snapshot)) == []


def test_check_deep_tells_of_what_has_changed(project):
    lists(project, tool("echo", description="Other."), "other")

    assert "unavailable" not in toolrt(project, "check").stdout
    assert "odd.echo: its definition has changed" in toolrt(project, "check", "--deep").stdout


def digest_of(project, name):
    pins = json.loads(toolrt(project, "pins", "diff", "-o", "json").stdout)["pins"]
    return next(each["seen"] for each in pins if each["tool"] == name)


def test_x1_what_is_let_in_is_what_was_looked_at_or_nothing(project):
    lists(project, tool("echo", description="Looked at."), "other")
    digest = digest_of(project, "odd.echo")
    assert digest[:12] in toolrt(project, "pins", "diff").stdout
    lists(project, tool("echo", description="Evil."), "other")
    refused = toolrt(project, "pins", "approve", "odd.echo", "--digest", digest[:12])
    short = toolrt(project, "pins", "approve", "odd.echo", "--digest", "0")
    is_written = (project / "toolrt.lock").exists()
    lists(project, tool("echo", description="Looked at."), "other")
    approved = toolrt(project, "pins", "approve", "odd.echo", "--digest", digest[:12])

    assert (refused.exit_code, short.exit_code, is_written) == (10, 2, False)
    assert approved.exit_code == 0


def test_x1_approving_shows_what_it_lets_in_and_how_many_stand_beside_it(project):
    lists(project, tool("echo", description="Other."), "other")
    result = toolrt(project, "pins", "approve", "odd.echo")

    assert "+description: Other." in result.stdout
    assert "1 tool approved: toolrt.lock is written, with 1 tool seen before" in result.stdout


@pytest.mark.parametrize("words", [["check"], ["check", "--deep"], ["pins", "list"]])
def test_a_store_that_cannot_be_read_lets_nothing_in_and_is_no_bug(project, words, caplog):
    for path in (project / ".toolrt").glob("state.db*"):
        path.write_bytes(b"garbage" * 1000)
    lists(project, tool("echo", description="Other."))
    result = toolrt(project, *words)

    assert result.exit_code == 0
    assert "cannot be read" in caplog.text
    assert toolrt(project, "run", "odd.echo").exit_code == 1
