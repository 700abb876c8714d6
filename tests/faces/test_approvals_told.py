"""What people are told of approvals: who asks, what it needs, whose yes there is (A5, A10, A13)."""

import re

import pytest
from bank import TWO, asked, document, identities, identity, state, write_bank

SEVERAL = """\
rules:
  - id: large
    decide: ask
    tools: [bank.pay]
    when: args.amount > 1000
    reason: Large payments are looked at.
    approval: {ttl: 10m, scopes: [once, pattern]}
  - id: huge
    decide: ask
    tools: [bank.pay]
    when: args.amount > 5000
    reason: Huge payments need finance.
    approval: {approvers: {roles: [finance]}, count: 2, ttl: 1h}
default: allow
"""
ANOTHER = "1 of 2 yeses; another is needed, of"


@pytest.fixture(autouse=True)
def bank(project, as_user):
    """Ann calls; eve may decide, without a role; fay and fin are of finance."""
    write_bank(project, SEVERAL)
    people = [identity(name, "call", "approve", roles=["finance"]) for name in ("fay", "fin")]
    identities(project, identity("ann", "call"), identity("eve", "call", "approve"), *people)
    as_user("ann")


@pytest.fixture
def says(invoke, as_user):
    """`says("fay", "approve", approval)`: a verb of `approvals`, by somebody."""

    def say(who, *words):
        as_user(who)
        return invoke("approvals", *words)

    return say


def test_a_paused_call_tells_every_rule_and_what_each_wants(invoke):
    shown = invoke("run", "bank.pay", "invoice=A1", "amount=6000")

    assert "Huge payments need finance (rule `huge`); Large payments are looked at (rule" in (
        shown.stderr
    )
    assert [line for line in shown.stderr.splitlines() if line.startswith("needs: ")] == [
        "needs: 2 yeses of role finance (not you, who asked), for rule `huge`",
        "needs: a yes of anybody who may approve (not you, who asked), for rule `large`",
        "needs: no yes of whoever asked, for rule `huge`",
        "needs: an answer within 10m, for rule `large`",
    ]


def test_p20_to_the_model_a_paused_call_tells_ids_and_reasons_alone(invoke):
    paused = document(invoke("run", "bank.pay", "invoice=A1", "amount=6000", "-o", "json"))
    pause = paused["pause"]

    assert "finance)" not in paused["text"]
    assert [each["id"] for each in pause["rules"]] == ["huge", "large"]
    assert pause["rules"][0]["reason"] == "Huge payments need finance."
    assert [(each["rules"], each["count"]) for each in pause["needs"]] == [
        (["huge"], 2),
        (["large"], 1),
    ]


def test_list_and_show_tell_every_rule(invoke, says):
    approval = asked(invoke, 6000)
    line = says("fay", "list").stdout
    text = says("fay", "show", approval).stdout
    told = document(says("fay", "show", approval, "-o", "json"))
    [listed] = document(says("fay", "list", "-o", "json"))["approvals"]
    entry = document(says("fay", "list", "-o", "json"))

    assert "pending, 0 of 3 yeses" in line
    assert "(rule `huge`)" in line
    assert "why       rule `huge`: Huge payments need finance.\n" in text
    assert "why       rule `large`: Large payments are looked at.\n" in text
    assert "2 yeses of role finance (not the requester), for rule `huge`; none so far" in text
    assert "an answer within 10m, for rule `large`" in text
    assert told["rules"] == listed["rules"] == ["huge", "large"]
    assert [each["reason"] for each in told["terms"]["asks"]] == [
        "Huge payments need finance.",
        "Large payments are looked at.",
    ]
    assert told["terms"]["ttl_s"] == 600
    assert entry["schema"] == "toolrt/v1"


def test_explain_tells_every_rule_and_whose_each_part_is(invoke):
    text = invoke("explain", "bank.pay", "invoice=A1", "amount=6000").stdout
    told = document(invoke("explain", "bank.pay", "invoice=A1", "amount=6000", "-o", "json"))

    assert text.startswith(
        "ask  the rule `huge` and the rule `large` ask a person: Huge payments need finance (rule `huge`); "
    )
    assert "2 yeses of role finance (not the requester), for rule `huge`\n" in text
    assert "an answer within 10m, for rule `large`\n" in text
    assert [each["rule"] for each in told["terms"]["asks"]] == ["huge", "large"]


def test_the_journal_tells_every_rule(invoke, says):
    approval = asked(invoke, 6000)
    as_told = says("fay", "list") and invoke("history", "show", approval, "-o", "json")

    assert '"huge"' in as_told.stdout
    assert '"large"' in as_told.stdout


def test_a10_a_yes_that_is_not_enough_says_who_else_must(invoke, says, project, as_user):
    write_bank(project, TWO)
    as_user("ann")
    approval = asked(invoke)
    wanted = f"{ANOTHER} anybody who may approve (not you, not the requester)"
    first = says("fay", "approve", approval, "-q")
    run = says("fay", "approve", approval, "--run")
    line = says("fay", "list").stdout
    shown = says("fay", "show", approval)
    other = says("fin", "show", approval)
    as_user("ann")
    again = invoke("run", "bank.pay", "invoice=A1", "amount=2000")

    assert wanted in first.stdout
    assert first.stderr.splitlines()[0] == wanted
    assert run.exit_code == 6
    assert f"needs: {wanted}" in run.stderr
    assert "try: " not in first.stderr + run.stderr + shown.stderr
    assert f"then: toolrt approvals run {approval[:8]}, once it is approved" in run.stderr
    assert "pending, 1 of 2 yeses" in line
    assert f"{ANOTHER} anybody who may approve (not fay, not the requester)" in other.stdout
    assert f"try: toolrt approvals approve {approval[:8]}" in other.stderr
    assert f"needs: {ANOTHER} anybody who may approve (not fay, not you, who asked)" in again.stderr


def test_a13_an_edit_into_a_stricter_rule_waits_on_its_terms_at_once(invoke, says):
    approval = asked(invoke)
    edited = says("fay", "approve", approval, "--edit", "amount=6000")
    told = document(says("fay", "show", approval, "-o", "json"))

    assert edited.exit_code == 0
    assert edited.stderr.startswith(
        "with these arguments more is asked for: Huge payments need finance (rule `huge`)\n"
    )
    assert f"{ANOTHER} role finance (not you, not the requester), for rule `huge`" in edited.stdout
    assert (told["state"], told["rules"]) == ("pending", ["huge", "large"])
    assert says("fin", "approve", approval).exit_code == 0
    assert state(invoke, approval) == "approved"
    assert says("fin", "run", approval).stdout == "paid A1 6000\n"


def test_a13_a_yes_that_the_new_terms_do_not_let_count_is_told(invoke, says):
    approval = asked(invoke)
    edited = says("eve", "approve", approval, "--edit", "amount=6000")
    told = document(says("fay", "show", approval, "-o", "json"))

    assert "more is asked for: Huge payments need finance (rule `huge`)" in edited.stderr
    assert (told["state"], told["arguments"]["amount"]) == ("pending", 6000)
    assert [each["have"] for each in told["needs"]] == [0, 1]


def test_a13_an_edit_out_of_a_rule_asks_for_no_less(invoke, says):
    approval = asked(invoke, 6000)
    says("fay", "approve", approval, "--edit", "amount=2000")

    assert state(invoke, approval) == "pending"
    assert document(says("fay", "show", approval, "-o", "json"))["rules"] == ["large", "huge"]


def test_a5_a_run_that_reopens_says_so_and_by_which_rule(invoke, says, project):
    approval = asked(invoke)
    says("fay", "approve", approval)
    write_bank(project, SEVERAL.replace("args.amount > 5000", "args.amount > 1500"))
    reopened = says("fay", "run", approval)
    text = says("fay", "show", approval).stdout

    assert reopened.exit_code == 6
    assert reopened.stderr.startswith(
        "paused: `bank.pay` waits for a person again, since more is asked for than was approved: "
        "Huge payments need finance (rule `huge`)."
    )
    assert f"needs: {ANOTHER} role finance (not you, not the requester), for" in reopened.stderr
    assert "why       rule `huge`: Huge payments need finance.\n" in text
    assert says("fin", "approve", approval, "--run").stdout == "paid A1 2000\n"


def test_a2_a_no_to_what_was_approved_names_the_verb_that_calls_it_off(invoke, says):
    approval = asked(invoke)
    says("fay", "approve", approval)
    late = says("fin", "deny", approval)
    own = says("fay", "deny", approval)

    for each in (late, own):
        assert each.exit_code == 1
        assert "approved by fay" in each.stderr
        assert each.stderr.splitlines()[-1] == f"try: toolrt approvals cancel {approval[:8]}"
    assert says("fin", "cancel", approval).exit_code == 0
    assert state(invoke, approval) == "cancelled"


@pytest.mark.parametrize("more", [[], ["--run"]])
def test_a11_a_standing_yes_says_what_it_is_for_and_how_it_ends(invoke, says, more):
    approval = asked(invoke)
    given = says(
        "fay", "approve", approval, "--for", "1h", "--uses", "5", "--any", "invoice", *more
    )
    [grant] = document(says("fay", "grants", "-o", "json"))["grants"]
    told = next(line for line in given.stderr.splitlines() if line.startswith("grant "))

    assert re.fullmatch(
        rf"grant {grant['id'][:8]}: bank\.pay amount=2000 invoice=\*, for ann; "
        r"5 of 5 uses left, ends in 60 minutes, (on \S+ )?at \d\d:\d\d:\d\d \S+",
        told,
    )
    assert f"revoke: toolrt approvals revoke {grant['id'][:8]}" in given.stderr.splitlines()


def test_when_a_question_expires_is_told_to_the_second(invoke, says):
    shown = invoke("run", "bank.pay", "invoice=A1", "amount=2000")
    approval = says("fay", "list", "--ids").stdout.strip()
    state_ = says("fay", "show", approval).stdout.splitlines()[1]

    assert re.search(
        r"^expires: in 10 minutes, (on \S+ )?at \d\d:\d\d:\d\d \S+$", shown.stderr, re.MULTILINE
    )
    assert re.fullmatch(
        r"state     pending, expires in 10 minutes, (on \S+ )?at \d\d:\d\d:\d\d \S+", state_
    )


def test_a12_a_known_secret_in_an_argument_is_masked_and_said_to_be_one(
    invoke, says, project, monkeypatch
):
    monkeypatch.setenv("BANK_KEY", "s3cr3t-of-the-bank")
    tools = (project / "tools.d" / "bank.yaml").read_text()
    keyed = 'command: {argv: [printf, "%s", "{{ a }}"], env: {KEY: "${env:BANK_KEY}"}}'
    tools += f"  keyed:\n    description: K.\n    parameters: {{a: string}}\n    {keyed}\n"
    (project / "tools.d" / "bank.yaml").write_text(tools)
    paused = invoke("run", "bank.pay", "invoice=s3cr3t-of-the-bank", "amount=2000", "-o", "json")
    approval = document(paused)["pause"]["approval_id"]
    text = says("fay", "show", approval)
    told = says("fay", "show", approval, "-o", "json")
    given = says("fay", "approve", approval, "--for", "1h")
    grants = says("fay", "grants")
    ran = says("fay", "run", approval, "-q")

    assert "secret    `invoice` equals a known secret, which is masked here\n" in text.stdout
    assert document(told)["secrets"] == ["invoice"]
    assert document(told)["arguments"]["invoice"] == "***"
    every = (text, told, given, grants, ran)
    assert all("s3cr3t" not in each.output for each in every)
    assert ran.stdout == "paid *** 2000\n"


def test_a_setting_that_makes_a_tool_ask_is_named_as_the_origin(invoke, project):
    rules = "settings:\n- {tools: [bank.pay], timeout: 5s}\n- {tools: [bank.pay], hitl: confirm}\n"
    (project / "policies.d" / "bank.yaml").write_text(rules + "default: allow\n")
    shown = invoke("show", "bank.pay", "--resolved", "-o", "json")
    text = invoke("explain", "bank.pay", "invoice=A1", "amount=1").stdout

    assert document(shown)["origins"]["hitl.mode"] == "policies.d/bank.yaml:3 settings"
    assert re.search(r"mode: confirm +# policies.d/bank.yaml:3 settings", text)
    assert "hitl of policies.d/bank.yaml:3 settings" in text.splitlines()[0]


HUGE = """\
rules:
  - {id: huge, decide: ask, tools: [bank.pay], approval: {approvers: {roles: [finance]}}}
default: allow
"""


def offers(shown):
    """The commands that are suggested for a yes."""
    return re.findall(r"try: .*approvals approve", shown.stderr)


@pytest.mark.parametrize(
    ("who", "rules", "whose"),
    [
        ("ann", SEVERAL, "a yes of anybody who may approve (not you)"),
        ("eve", HUGE, "a yes of role finance"),
        ("root", SEVERAL, "a yes of anybody who may approve (not you)"),
    ],
)
def test_a17_nobody_is_offered_a_yes_that_would_be_refused(
    invoke, as_user, project, who, rules, whose
):
    write_bank(project, rules)
    identities(
        project,
        identity("ann", "call"),
        identity("eve", "call", "approve"),
        identity("fay", "call", "approve", roles=["finance"]),
        identity("root", "call", "admin"),
    )
    as_user(who)
    guise = ["--as", "ann"] if who == "root" else []
    ran = invoke("run", "bank.pay", "invoice=A1", "amount=2000", *guise)
    [approval] = re.findall(r"approvals show (\S+)", ran.stderr)
    shown = invoke("approvals", "show", approval)
    for told in (ran, shown):
        assert offers(told) == []
        assert whose in told.stderr
        assert "once it is approved" in told.stderr
    as_user("fay")
    assert len(offers(invoke("approvals", "show", approval))) == 1


def test_without_identities_a_role_that_nobody_here_has_is_no_yes_to_offer(invoke, project):
    write_bank(project, HUGE)
    (project / "toolrt.yaml").unlink()
    ran = invoke("run", "bank.pay", "invoice=A1", "amount=2000")
    assert (offers(ran), "needs: a yes of role finance" in ran.stderr) == ([], True)


def test_a17_whoever_is_not_among_those_who_decide_is_told_who_is(invoke, says, project):
    write_bank(project, HUGE)
    approval = asked(invoke)
    for verb in ("approve", "deny"):
        refused = says("eve", verb, approval)
        assert refused.exit_code == 4
        assert "`bank.pay`: you are not among those who may decide this" in refused.stderr
        assert "hint: it waits for a yes of role finance" in refused.stderr


def test_a_first_yes_of_two_is_listed_as_such(invoke, says, project):
    write_bank(project, TWO)
    approval = asked(invoke)
    says("eve", "approve", approval)
    [first, *_] = invoke("history", "list").stdout.splitlines()
    assert "said yes, 1 of 2" in first
    says("fay", "approve", approval)
    [second, *_] = invoke("history", "list").stdout.splitlines()
    assert "approved" in second
    assert "1 of 2" in invoke("history", "show", approval).stdout


def test_a11_of_a_standing_yes_the_journal_tells_all(invoke, says):
    approval = asked(invoke)
    said = says("eve", "approve", approval, "--for", "1h", "--pattern", "--any", "invoice")
    grant = re.search(r"grant (\w+):", said.stderr)[1]
    says("ann", "run", approval)
    ran = invoke("run", "bank.pay", "invoice=A2", "amount=2000", "-o", "json")
    call_id = document(ran)["call_id"]

    as_json = document(says_history(invoke, "show", grant, "-o", "json"))["entries"]
    granted, used, call = as_json
    assert (granted["event"], granted["scope"], granted["max_uses"]) == ("granted", "pattern", 100)
    assert granted["pattern"] == {"amount": "2000", "invoice": None}
    assert granted["expires_at"] == pytest.approx(granted["at"] + 3600, abs=1)
    assert (used["event"], used["call_id"], used["uses"]) == ("used", call_id, 1)
    assert (call["kind"], call["call_id"], call["status"]) == ("call", call_id, "success")
    assert (call["grant"], call["approval"]) == (granted["grant"], approval)

    listed = says_history(invoke, "list", "--limit", "30").stdout
    assert f"ask by large, grant {grant}" in listed
    assert re.search(rf"grant granted, 100 uses until \S+ \S+ +{grant}$", listed, re.MULTILINE)
    assert re.search(rf"grant used +{grant}$", listed, re.MULTILINE)
    assert len(document(says_history(invoke, "show", call_id, "-o", "json"))["entries"]) > 3


def says_history(invoke, *words):
    return invoke("history", *words)


PIN = """
  badge:
    description: Make a badge.
    parameters: {pin: {type: string, sensitive: true}, name: string}
    command: [printf, "%s", "{{ name }}"]
    effect: write
    hitl: confirm
"""


def test_a11_a_sensitive_argument_of_a_standing_yes_is_masked(invoke, says, project, as_user):
    tools = project / "tools.d" / "bank.yaml"
    tools.write_text(tools.read_text() + PIN)
    (project / "policies.d" / "bank.yaml").write_text(
        "approval: {scopes: [once, pattern]}\ndefault: allow\n"
    )
    as_user("ann")
    ran = invoke("run", "bank.badge", "pin=123456", "name=Ann", "-o", "json")
    approval = document(ran)["pause"]["approval_id"]
    said = says("eve", "approve", approval, "--for", "1h", "--pattern")
    shown = says("eve", "grants")
    as_json = says("eve", "grants", "-o", "json")
    assert "pin=***" in said.stderr
    assert "pin=***" in shown.stdout
    [grant] = document(as_json)["grants"]
    assert grant["pattern"] == {"name": '"Ann"', "pin": "***"}
    told = invoke("history", "export").stdout
    for text in (said.output, shown.output, as_json.output, told):
        assert "hmac" not in text
        assert "123456" not in text
    as_user("ann")
    assert invoke("run", "bank.badge", "pin=123456", "name=Ann").exit_code == 0


def test_a17_who_may_not_fill_in_what_is_asked_for_is_not_told_to_do_it(
    invoke, says, project, as_user
):
    file_wide = "approval: {approvers: {roles: [finance]}}\ndefault: allow\n"
    (project / "policies.d" / "bank.yaml").write_text(file_wide)
    as_user("ann")
    paused = invoke("run", "bank.refund", "invoice=A1", "-o", "json")
    approval = document(paused)["pause"]["approval_id"]
    for words in (["approve", approval, "--edit", "amount=5"], ["deny", approval]):
        refused = says("eve", *words)
        assert refused.exit_code == 4
        assert "hint: it waits for a yes of role finance" in refused.stderr
        assert f"try: toolrt approvals show {approval[:8]}" in refused.stderr
