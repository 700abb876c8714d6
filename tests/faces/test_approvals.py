"""`toolrt approvals` on a terminal's side: look, decide, edit, run (A1 to A19, O3)."""

import json
from functools import partial
from pathlib import Path

import pytest
from bank import TWO, asked, document, identities, identity, state, write_bank

from toolrt.faces.cli.approvals import ACTIONS, verb
from toolrt.stores.approvals import Question


@pytest.fixture(autouse=True)
def bank(project):
    write_bank(project)


def test_a_paused_call_prints_how_to_approve_it_and_exits_6(invoke):
    shown = invoke("run", "bank.pay", "invoice=A1", "amount=2000")
    approval = document(invoke("approvals", "list", "-o", "json"))["approvals"][0]["id"]
    lines = shown.stderr.splitlines()

    assert (shown.exit_code, shown.stdout) == (6, "")
    assert lines[0].startswith("paused: `bank.pay` waits for a person: Large payments are looked")
    assert lines[1].startswith("expires: in 30 minutes, at ")
    assert lines[2] == f"look: toolrt approvals show {approval[:8]}"
    assert lines[3] == f"try: toolrt approvals approve {approval[:8]}"


def test_a_paused_call_is_a_document_for_programs(invoke):
    shown = invoke("run", "bank.pay", "invoice=A1", "amount=2000", "-o", "json")

    assert (shown.exit_code, shown.stderr) == (6, "")
    assert document(shown)["status"] == "paused"
    assert document(shown)["pause"]["mode"] == "confirm"


def test_a_list_has_a_line_for_each_that_is_open(invoke):
    approval = asked(invoke)
    [line] = invoke("approvals", "list").stdout.splitlines()
    empty = invoke("approvals", "list", "--state", "denied")

    assert line.startswith(f"{approval[:8]}  pending  bank.pay  ")
    assert line.endswith("  Large payments are looked at.")
    assert (empty.stdout, empty.exit_code) == ("", 0)
    assert "try: toolrt approvals list --state all" in empty.stderr
    assert invoke("approvals", "list", "--ids").stdout == f"{approval}\n"


def test_a_list_is_a_document_or_one_a_line(invoke):
    for number in range(2):
        asked(invoke, invoice=f"A{number}")
    whole = document(invoke("approvals", "list", "-o", "json"))
    lines = invoke("approvals", "list", "-o", "jsonl").stdout.splitlines()

    assert whole["schema"] == "toolrt/v1"
    assert [json.loads(line)["id"] for line in lines] == [each["id"] for each in whole["approvals"]]


def test_a12_show_tells_all_that_somebody_has_to_know(invoke):
    text = invoke("approvals", "show", asked(invoke)[:6]).stdout

    for said in (
        "bank.pay",
        "Large payments are looked at.",
        "large\n",
        "a yes of anybody who may approve; none so far",
        "pending, expires in 30 minutes",
        "  amount: 2000\n",
        '    - "paid %s %s"\n    - A1\n    - "2000"\n',
        "  cwd: ",
    ):
        assert said in text, said


def test_a12_show_is_a_document_for_programs(invoke):
    shown = document(invoke("approvals", "show", asked(invoke), "-o", "json"))

    assert (shown["schema"], shown["state"], shown["rules"]) == ("toolrt/v1", "pending", ["large"])
    assert shown["terms"]["groups"] == [
        {"roles": [], "principals": [], "count": 1, "have": 0, "exclude_requester": False}
        | {"rules": ["large"]}
    ]
    assert shown["will_run"]["argv"] == ["printf", "paid %s %s", "A1", "2000"]
    assert shown["arguments"] == {"invoice": "A1", "amount": 2000}


def test_o3_nothing_that_is_shown_can_act_on_the_terminal(invoke):
    approval = asked(invoke, invoice="A\x1b[2J\u202e\u200b\U000e0041\nstate: approved")
    shown = invoke("approvals", "show", approval).stdout

    assert not any(char in shown for char in "\x1b\u202e\u200b\U000e0041")
    assert "\\u001b[2J\\U0000202e\\U0000200b\\U000e0041\\nstate: approved" in shown


@pytest.mark.parametrize("verb_", ["show", "approve", "deny", "run", "cancel"])
def test_an_id_that_is_none_says_what_to_try(invoke, verb_):
    shown = invoke("approvals", verb_, "zzz", "-o", "json")

    assert shown.exit_code == 7
    assert document(shown)["error"]["code"] == "not-found"
    assert shown.stderr.splitlines()[-1] == "try: toolrt approvals list"


def test_a_beginning_that_two_have_is_refused(invoke, monkeypatch):
    for number in "12":
        monkeypatch.setattr("toolrt.policy.questions.Question", partial(Question, id=f"ab{number}"))
        asked(invoke, invoice=number)
    shown = invoke("approvals", "show", "ab")

    assert shown.exit_code == 2
    assert "give more of the id" in shown.stderr


def test_a19_deciding_runs_nothing_and_run_runs_it_once(invoke):
    approval = asked(invoke)
    yes = invoke("approvals", "approve", approval[:5], "--note", "as agreed")
    first, second = (invoke("approvals", "run", approval) for _ in range(2))

    assert yes.exit_code == 0
    assert "paid" not in yes.stdout.replace('"paid %s %s"', "")
    assert "as agreed" in yes.stdout
    assert yes.stderr == f"try: toolrt approvals run {approval[:8]}\n"
    assert (first.exit_code, first.stdout) == (0, "paid A1 2000\n")
    assert (second.exit_code, second.stdout) == (1, "")
    assert second.stderr.startswith("error[conflict]: `bank.pay`: it has run\n")
    assert second.stderr.splitlines()[-1] == f"try: toolrt approvals show {approval[:8]}"


def test_a19_the_same_call_again_runs_what_was_approved(invoke):
    invoke("approvals", "approve", asked(invoke))

    assert invoke("run", "bank.pay", "invoice=A1", "amount=2000").stdout == "paid A1 2000\n"


def test_approve_can_run_it_at_once(invoke):
    shown = invoke("approvals", "approve", asked(invoke), "--run")

    assert (shown.exit_code, shown.stdout) == (0, "paid A1 2000\n")


def test_what_is_not_approved_does_not_run(invoke):
    shown = invoke("approvals", "run", asked(invoke))

    assert (shown.exit_code, shown.stdout) == (6, "")
    assert shown.stderr.startswith("paused: ")


def test_a14_the_caller_is_told_why_it_was_denied(invoke):
    approval = asked(invoke)
    no = invoke("approvals", "deny", approval, "--note", "no such invoice")
    run = invoke("approvals", "run", approval)
    again = invoke("run", "bank.pay", "invoice=A1", "amount=2000")

    assert no.exit_code == 0
    assert "no by " in no.stdout
    assert run.exit_code == 4
    assert "error[approval-denied]: `bank.pay`: it was denied: no such invoice" in run.stderr
    assert again.exit_code == 4
    assert again.stderr.startswith("error[recently-denied]: ")


def test_a13_an_edit_is_what_runs_and_the_result_says_so(invoke):
    approval = asked(invoke)
    yes = invoke("approvals", "approve", approval, "--edit", "amount=500")
    run = invoke("approvals", "run", approval)

    assert "asked for:\n  invoice: A1\n  amount: 2000\n" in yes.stdout
    assert "arguments:\n  invoice: A1\n  amount: 500\n" in yes.stdout
    assert run.stdout == "paid A1 500\n"
    assert run.stderr.startswith("note: the arguments were edited by ")


@pytest.mark.parametrize(
    ("edit", "exit_code", "said"),
    [
        ("amount=-1", 2, "`amount` must be "),
        ("amount=9500", 4, "Too large."),
        ("amont=1", 2, "`amont`"),
        ("amount", 2, "`amount` is not an argument"),
    ],
)
def test_a13_an_edit_is_refused_like_a_call(invoke, edit, exit_code, said):
    approval = asked(invoke)
    shown = invoke("approvals", "approve", approval, "--edit", edit)

    assert shown.exit_code == exit_code
    assert said in shown.stderr
    assert "try: toolrt approvals " in shown.stderr.splitlines()[-1]
    assert state(invoke, approval) == "pending"


def test_what_a_person_has_to_fill_in_is_given_like_an_edit(invoke):
    paused = invoke("run", "bank.refund", "invoice=A1")
    approval = invoke("approvals", "list", "--ids").stdout.strip()
    missing = invoke("approvals", "approve", approval)
    given = invoke("approvals", "approve", approval, "--edit", "amount=7", "--run")

    assert paused.stderr.endswith(f"try: toolrt approvals approve {approval[:8]} --edit amount=…\n")
    assert missing.exit_code == 2
    assert "error[missing-arguments]: `amount` is missing\nhint: add --edit amount=…\n" in (
        missing.stderr
    )
    assert given.stdout == "refunded A1 7\n"


def test_a12_what_was_cut_is_approved_in_full_or_not_at_all(invoke):
    approval = asked(invoke, invoice="A" * 70_000 + "Z")
    cut, whole = (invoke("approvals", "show", approval, *more) for more in ([], ["--full"]))
    refused = invoke("approvals", "approve", approval)
    made = document(invoke("approvals", "show", approval, "-o", "json"))

    assert "more bytes are not shown" in cut.stdout
    assert cut.stderr == f"try: toolrt approvals show {approval[:8]} --full\n"
    assert whole.stdout.count("AZ") == 2
    assert made["arguments"]["invoice"].endswith("Z")
    assert refused.exit_code == 2
    assert refused.stderr.splitlines()[-1] == f"try: toolrt approvals show {approval[:8]} --full"
    assert state(invoke, approval) == "pending"
    assert invoke("approvals", "approve", approval, "--full").exit_code == 0


SECRET = """\
tools:
  login:
    description: Log in.
    parameters: {pin: {type: string, sensitive: true}}
    command: [echo, "{{ pin }}"]
    hitl: confirm
    effect: write
"""


def test_a4_sensitive_arguments_are_not_shown_and_not_kept(invoke, project):
    (project / "tools.d" / "login.yaml").write_text(SECRET)
    invoke("run", "login", "pin=AAAA-7777")
    approval = invoke("approvals", "list", "--ids").stdout.strip()
    shown = [invoke("approvals", "show", approval, *more).output for more in ([], ["-o", "json"])]
    edited = invoke("approvals", "approve", approval, "--edit", "pin=BBBB-8888")
    run = invoke("approvals", "run", approval)
    kept = b"".join(path.read_bytes() for path in (project / ".toolrt").glob("state.db*"))

    assert "AAAA-7777" not in "".join(shown)
    assert "BBBB-8888" not in edited.output
    assert run.stdout == "BBBB-8888\n"
    assert b"AAAA-7777" not in kept
    assert b"BBBB-8888" not in kept


def test_a3_a_later_decision_hears_of_the_first(invoke, as_user):
    approval = asked(invoke)
    as_user("boss")
    invoke("approvals", "approve", approval)
    same = invoke("approvals", "approve", approval)
    as_user("chief")
    other = invoke("approvals", "deny", approval)

    assert same.exit_code == 0
    assert other.exit_code == 1
    assert "error[already-decided]: bank.pay: it has been decided: approved by boss, " in (
        other.stderr
    )
    assert other.stderr.splitlines()[-1] == f"try: toolrt approvals cancel {approval[:8]}"


def test_a10_two_people_are_needed_and_not_the_one_who_asked(invoke, project, as_user):
    write_bank(project, TWO)
    as_user("ann")
    approval = asked(invoke)
    own = invoke("approvals", "approve", approval)
    as_user("boss")
    first = invoke("approvals", "approve", approval)
    early = invoke("approvals", "approve", approval, "--run")
    as_user("chief")
    second = invoke("approvals", "approve", approval)

    assert (own.exit_code, "whoever asked may not decide this" in own.stderr) == (4, True)
    assert "pending" in first.stdout
    assert (
        "1 of 2 yeses; another is needed, of anybody who may approve (not you, not the requester)"
        in first.stdout
    )
    assert early.exit_code in {1, 6}
    assert "approved, run it within 30 minutes" in second.stdout


def test_a17_the_terminal_is_a_channel_of_its_own(invoke):
    approval = asked(invoke)
    invoke("approvals", "approve", approval)
    [vote] = document(invoke("approvals", "show", approval, "-o", "json"))["votes"]

    assert (vote["channel"], vote["verdict"], vote["counts"]) == ("cli", "approve", True)


def test_a17_who_may_not_approve_does_not(invoke, project, as_user):
    identities(project, identity("ann", "call"), identity("boss", "approve"))
    as_user("ann")
    approval = asked(invoke)
    refused = [
        invoke("approvals", *words)
        for words in (["approve", approval], ["deny", approval], ["resolve", approval, "failed"])
    ]
    as_user("eve")
    unknown = [
        invoke("approvals", *words)
        for words in (["list"], ["show", approval], ["approve", approval], ["run", approval])
    ]

    assert [each.exit_code for each in (*refused, *unknown)] == [4] * 7
    assert all("ann may decide nothing here" in each.stderr for each in refused)
    assert all("eve is not among the `identities`" in each.stderr for each in unknown)
    as_user("boss")
    assert invoke("approvals", "approve", approval).exit_code == 0


def test_nobody_decides_as_somebody_else(invoke):
    for name in ACTIONS:
        assert "--as" not in {
            flag for each in verb.get_command(None, name).params for flag in each.opts
        }


def test_a18_the_caller_calls_it_off_and_others_only_if_they_may_decide(invoke, project, as_user):
    identities(project, identity("ann", "call"), identity("bob", "call"))
    as_user("ann")
    approval = asked(invoke)
    as_user("bob")
    other = invoke("approvals", "cancel", approval)
    as_user("ann")
    own = invoke("approvals", "cancel", approval)

    assert (other.exit_code, own.exit_code) == (7, 0)
    assert state(invoke, approval) == "cancelled"


@pytest.fixture
def shared(invoke, project, as_user):
    """A question of ann's, and a standing yes of hers; bob may call as she may."""
    identities(
        project, identity("ann", "call"), identity("bob", "call"), identity("boss", "approve")
    )
    as_user("ann")
    granted, waits = asked(invoke), asked(invoke, invoice="A2", amount=3000)
    as_user("boss")
    assert invoke("approvals", "approve", granted, "--for", "1h", "--pattern").exit_code == 0
    return waits


@pytest.mark.parametrize("verb_", ["show", "run", "cancel"])
def test_who_may_only_call_finds_no_question_of_another(invoke, as_user, shared, verb_):
    as_user("bob")
    shown = [invoke("approvals", verb_, prefix) for prefix in (shared, shared[:3])]

    assert [each.exit_code for each in shown] == [7, 7]
    assert all("error[not-found]: there is no approval" in each.stderr for each in shown)
    assert all("bank.pay" not in each.output for each in shown)


@pytest.mark.parametrize(
    "words", [("list", "--state", "all"), ("grants", "--all")], ids=["list", "grants"]
)
def test_who_may_only_call_lists_their_own(invoke, as_user, shared, words):
    lines = {}
    for name in ("ann", "bob", "boss"):
        as_user(name)
        lines[name] = invoke("approvals", *words).stdout

    assert lines["bob"] == ""
    assert lines["ann"] == lines["boss"] != ""


def test_one_who_may_only_call_finds_their_own_by_its_beginning(invoke, as_user, shared):
    as_user("ann")

    assert document(invoke("approvals", "show", shared[:8], "-o", "json"))["id"] == shared


LOST = """\
tools:
  lost:
    description: Be lost.
    command: [sleep, "5"]
    timeout: {attempt: 200ms}
    retry: none
    hitl: confirm
    verify: {tool: done, applied_when: result == "yes"}
  done:
    description: Whether it was done.
    command: [cat, done]
    effect: read
    retry: none
"""


def test_a2_an_end_that_nobody_knows_is_said_by_a_person(invoke):
    invoke("run", "bank.hang")
    approval = invoke("approvals", "list", "--ids").stdout.strip()
    run = invoke("approvals", "approve", approval, "--run")
    open_ = invoke("approvals", "list").stdout
    hint = invoke("approvals", "show", approval).stderr
    said = invoke("approvals", "resolve", approval, "succeeded")

    assert run.exit_code == 5
    assert "  unknown  " in open_
    resolve = f"toolrt approvals resolve {approval[:8]} succeeded|failed"
    assert hint == f"nobody knows how it ended; look first, then say it: {resolve}\n"
    assert said.exit_code == 0
    assert state(invoke, approval) == "succeeded"
    assert invoke("approvals", "resolve", approval, "failed").exit_code == 1


def test_a9_an_end_that_verify_cannot_tell_is_left_to_a_person(invoke, project):
    invoke("run", "bank.hang")
    approval = invoke("approvals", "list", "--ids").stdout.strip()
    invoke("approvals", "approve", approval, "--run")

    left = invoke("approvals", "resolve", approval)
    assert left.exit_code == 1
    assert left.stderr == (
        "error[unknown-outcome]: bank.hang: nobody knows how it ended: the tool has no `verify` to"
        " be asked\nhint: look what came of it, then say it\n"
        f"try: toolrt approvals resolve {approval[:8]} succeeded|failed\n"
    )
    assert state(invoke, approval) == "unknown"


def test_a9_what_verify_says_is_told_with_the_end(invoke, project):
    tool = project / "tools.d" / "lost.yaml"
    tool.write_text(LOST)
    invoke("run", "lost")
    approval = invoke("approvals", "list", "--ids").stdout.strip()
    invoke("approvals", "approve", approval, "--run")
    (project / "done").write_text("yes")

    other = invoke("approvals", "resolve", approval, "failed")
    said = invoke("approvals", "resolve", approval)
    assert (other.exit_code, said.exit_code) == (1, 0)
    assert "error[conflict]: lost: `done` says that it took effect" in other.stderr
    assert "state     succeeded" in said.stdout
    assert said.stderr == "`done` says that it took effect\n"
    shown = invoke("history", "show", approval).stdout
    assert "resolved" in shown


def test_a11_a_yes_for_an_hour_answers_the_like_until_it_is_revoked(invoke):
    approval = asked(invoke)
    words = ("--for", "1h", "--uses", "5", "--any", "invoice")
    invoke("approvals", "approve", approval, *words, "--run")
    like = invoke("run", "bank.pay", "invoice=B7", "amount=2000")
    other = invoke("run", "bank.pay", "invoice=B7", "amount=3000")
    listed = invoke("approvals", "grants")
    [grant] = document(invoke("approvals", "grants", "-o", "json"))["grants"]
    revoked = invoke("approvals", "revoke", grant["id"][:6])

    assert like.stdout == "paid B7 2000\n"
    assert like.stderr.startswith(f"note: allowed by the grant {grant['id']}")
    assert other.exit_code == 6
    assert "live, ends in " in listed.stdout
    assert "bank.pay" in listed.stdout
    assert "invoice=*" in listed.stdout
    assert (grant["scope"], grant["max_uses"], grant["uses"]) == ("pattern", 5, 1)
    assert revoked.stdout == f"{grant['id'][:8]}  revoked: bank.pay asks again\n"
    assert invoke("run", "bank.pay", "invoice=B8", "amount=2000").exit_code == 6
    assert invoke("approvals", "grants").stdout == ""
    assert "revoked" in invoke("approvals", "grants", "--all").stdout


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        (["--uses", "2"], 2, "there is no --for"),
        (["--any", "invoice"], 2, "there is no --for"),
        (["--for", "1x"], 2, "no duration such as 30s"),
        (["--for", "25h"], 2, "24 hours at most"),
        (["--for", "1h", "--any", "invoic"], 2, "did you mean `invoice`?"),
        (["--for", "1h", "--session"], 4, "say yes for a session here"),
    ],
)
def test_a11_a_yes_that_is_too_broad_is_refused_and_nothing_is_decided(
    invoke, words, exit_code, said
):
    approval = asked(invoke)
    shown = invoke("approvals", "approve", approval, *words)

    assert shown.exit_code == exit_code
    assert said in shown.stderr
    assert state(invoke, approval) == "pending"


def test_a21_a_store_that_cannot_be_used_is_told_to_the_operator(invoke, project):
    (project / ".toolrt").mkdir(mode=0o700)
    (project / ".toolrt" / "state.db").write_bytes(b"this is no database" * 100)
    (project / ".toolrt" / "state.db").chmod(0o600)
    shown = invoke("approvals", "list")

    assert shown.exit_code == 1
    assert shown.stderr.startswith("error[unavailable]: ")
    assert shown.stderr.splitlines()[-1] == "try: toolrt doctor"


def test_a21_a_call_that_cannot_be_asked_about_tells_the_operator_why(invoke, project):
    (project / ".toolrt").mkdir(mode=0o700)
    (project / ".toolrt" / "state.db").write_bytes(b"this is no database" * 100)
    (project / ".toolrt" / "state.db").chmod(0o600)
    shown = invoke("run", "bank.pay", "invoice=A1", "amount=2000")

    assert shown.exit_code == 4
    assert "error[approval-unavailable]: " in shown.stderr
    assert "the store cannot be used: " in shown.stderr
    assert "bug" not in shown.stderr


def test_broken_manifests_end_with_3(invoke, project):
    (project / "tools.d" / "bad.yaml").write_text("tools:\n  x: {descriptoin: hello}\n")

    assert invoke("approvals", "list").exit_code == 3


def test_a_verb_that_is_none_says_what_to_try(invoke):
    shown = invoke("approvals", "aprove")

    assert shown.exit_code == 2
    assert shown.stderr == (
        "error[usage]: there is no verb `aprove`\nhint: did you mean `approve`?\n"
        "try: toolrt approvals --help\n"
    )


@pytest.mark.parametrize("name", ACTIONS)
def test_each_verb_has_help_that_begins_with_examples(invoke, name):
    shown = invoke("approvals", name, "--help")

    assert shown.exit_code == 0
    assert shown.output.partition("\n\n")[2].startswith(
        f"Examples:\n  toolrt approvals {name} "
    ) or (f"  toolrt approvals {name}" in shown.output)


@pytest.mark.parametrize("name", ACTIONS)
def test_each_flag_of_a_verb_is_told(name):
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    section = page.split("## `toolrt approvals VERB`")[1].split("\n## ")[0]
    line = next(each for each in section.splitlines() if each.startswith(f"| `{name}"))
    command = verb.get_command(None, name)
    flags = {flag for each in command.params[: command.own] for flag in each.opts if flag[0] == "-"}

    assert {flag for flag in flags if f"`{flag}`" not in line} == set()


def test_common_options_stand_anywhere(invoke, project, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    common = ["-p", str(project), "-o", "jsonl"]
    words = [
        [*common, "approvals", "list"],
        ["approvals", *common, "list"],
        ["approvals", "list", *common],
    ]
    asked(lambda *args: invoke("-p", str(project), *args))

    assert [len(invoke(*each).stdout.splitlines()) for each in words] == [1, 1, 1]
