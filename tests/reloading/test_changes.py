import pytest
from reloading_project import ECHO, RULES, replace

pytestmark = pytest.mark.anyio


async def changed(project, tools=ECHO, rules=RULES, **files):
    async with project.open() as runtime:
        for name, text in files.items():
            (project.root / f"{name}.yaml").write_text(text)
        replace(project.tools, tools)
        replace(project.rules, rules)
        return (await runtime.reload(accept_loss=True)).changes


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("timeout: 5s", "timeout: 8s", "~ echo (timeout 5s -> 8s)"),
        ("    timeout: 5s\n", "", "~ echo (timeout 5s -> none)"),
        ("timeout: 5s", "timeout: {total: 5s, attempt: 2s}", "~ echo (timeout.attempt none -> 2s)"),
        ("echo:", "say:", "+ say  - echo"),
        ("Gives a text back.", "Gives.", "~ echo (description Gives a text back. -> Gives.)"),
        ("Gives a text back.", "Gives a text back. " * 9, "~ echo (description)"),
        ("[printf", "[echo", "~ echo (command.argv)"),
        ("effect: read", "tags: [a]\n    title: T\n    effect: write",
         '~ echo (effect read -> write, tags none -> ["a"], title none -> T)'),
        ("effect: read", "tags: [a]\n    title: T\n    version: '1'\n    effect: write",
         '~ echo (effect read -> write, tags none -> ["a"], title none -> T, 1 more)'),
        ("tools:", "# only a comment\ntools:", ""),
    ],
)  # fmt: skip
async def test_a_changed_tool_is_told_in_one_line(project, before, after, text):
    made = await changed(project, ECHO.replace(before, after, 1))

    if text == "~ echo (command.argv)":
        assert made.text.startswith("~ echo (command.argv [")
    else:
        assert made.text == text


async def test_defaults_of_the_project_change_the_tools_that_they_reach(project):
    made = await changed(project, toolrt="defaults: {retry: {attempts: 3}}\n")

    assert made.text == "~ echo (retry none -> 3)  ~ defaults.retry.attempts (none -> 3)"


IDENTITIES = """\
identities:
- {os_user: ann, principal: ann, may: [call]}
- {token_hash: abc, principal: eve}
"""


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("vars: {limit: 500}", "vars: {limit: 5000}", "~ vars.limit (500 -> 5000)"),
        ("vars: {}", "vars: {limit: 5}", "~ vars.limit (none -> 5)"),
        ("vars: {a: {b: [1]}}", "vars: {a: {b: [2]}}", "~ vars.a.b ([1] -> [2])"),
        ("vars: {a: 1}", "vars: {a: x, url: 'https://ann:hunter2@host'}",
         "~ vars.a (1 -> x)  ~ vars.url (none -> https://***)"),
        ("defaults: {}", "defaults: {http: {headers: {K: '${env:OLD}'}}}",
         "~ defaults.http.headers.K"),
        ("defaults: {http: {headers: {K: '${env:OLD}'}}}",
         "defaults: {http: {headers: {K: '${env:NEW}'}}}", "~ defaults.http.headers.K"),
        ("policy: required", "", "~ policy (required -> none)"),
        ("builtins: []", "approvals: {when_unattended: deny}",
         "~ approvals.when_unattended (none -> deny)  ~ builtins ([] -> none)"),
        (IDENTITIES, IDENTITIES.replace("principal: eve", "principal: eve, roles: [a]"),
         '~ identities.eve.roles (none -> ["a"])'),
        (IDENTITIES, IDENTITIES.replace("abc", "abd"), "~ identities.eve.token_hash"),
        (IDENTITIES, IDENTITIES + "- {os_user: x, principal: zoe}\n", "+ identities.zoe"),
        (IDENTITIES, IDENTITIES.replace("- {token_hash: abc, principal: eve}\n", ""),
         "- identities.eve"),
        (IDENTITIES, IDENTITIES + "- {os_user: y, principal: eve}\n", "+ identities.eve.2"),
        ("x-note: 1", "x-note: 2", ""),
    ],
)  # fmt: skip
async def test_every_key_of_the_project_file_is_told_by_name(project, before, after, text):
    (project.root / "toolrt.yaml").write_text(before + "\n")

    assert (await changed(project, toolrt=after + "\n")).text == text


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("default: deny\n", "default: allow\n", "~ default (deny -> allow)"),
        ("default: deny\n", "approval: {count: 2}\ndefault: deny\n",
         "~ policies.d/rules.yaml approval.count (none -> 2)"),
        ("default: deny\n", "limits: {asks: 3}\ndefault: deny\n",
         "~ policies.d/rules.yaml limits.asks (none -> 3)"),
    ],
)  # fmt: skip
async def test_what_a_file_says_for_all_its_rules_is_told(project, before, after, text):
    assert (await changed(project, rules=RULES.replace(before, after))).text == text


async def test_keys_are_in_the_document_by_name(project):
    made = await changed(project, toolrt="vars: {limit: 5}\n")

    assert made.document()["keys"] == {"vars.limit": "none -> 5"}


async def test_settings_of_operators_change_tools(project):
    made = await changed(project, rules=f"{RULES}settings:\n- {{tools: [echo], timeout: 9s}}\n")

    assert made.text == "~ echo (timeout 5s -> 9s)"


async def test_rules_are_told_by_id(project):
    made = await changed(
        project, rules=RULES.replace("too loud", "loud").replace("id: all", "id: every")
    )

    assert made.text == "+ rule every  ~ rule loud (reason too loud -> loud)  - rule all"
    assert made.document()["rules"] == {
        "added": ["every"], "changed": {"loud": "reason too loud -> loud"}, "removed": ["all"],
    }  # fmt: skip


RULE = '- {id: loud, decide: deny, tools: [echo], when: args.text == "loud", reason: too loud}'


@pytest.mark.parametrize(
    ("rule", "how"),
    [
        (RULE.replace('== "loud"', '== "l"'), 'when args.text == "loud" -> args.text == "l"'),
        (RULE.replace("tools: [echo]", "tools: ['*']"), 'tools ["echo"] -> ["*"]'),
        (RULE.replace("deny", "ask"), "decide deny -> ask"),
        (RULE.replace("deny", "ask, approval: {count: 2}"),
         "approval.count none -> 2, decide deny -> ask"),
        (RULE.replace("too loud", "x" * 50), "reason"),
        (RULE.replace("too loud", "see https://ann:hunter2@host"),
         "reason too loud -> see https://***"),
        (RULE.replace('== "loud", reason: too loud', '!= "l", mode: audit, unless: "true"')
         .replace("[echo]", "['*']"),
         'mode none -> audit, reason too loud -> none, tools ["echo"] -> ["*"], 2 more'),
    ],
)  # fmt: skip
async def test_what_changed_in_a_rule_is_told(project, rule, how):
    assert RULE in RULES
    made = await changed(project, rules=RULES.replace(RULE, rule))

    assert made.text == f"~ rule loud ({how})"


async def test_a_password_in_a_changed_value_is_not_shown(project):
    made = await changed(
        project, ECHO.replace("Gives a text back.", "See https://ann:hunter2@host/.")
    )

    assert "hunter2" not in made.text
    assert "hunter2" not in str(made.document())


OFFERS = """
toolsets: {looking: {tools: [echo]}}
prompts: {ask: {text: Hello.}}
resources: {note: {uri: "docs://note", text: One.}}
"""


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("tools: [echo]", 'tools: ["*"]', "~ toolset looking (+ pay)"),
        ("tools: [echo]", "tools: [pay]", "~ toolset looking (+ pay, - echo)"),
        ("tools: [echo]", "tools: [echo], description: Looks.", "~ toolset looking"),
        ("looking:", "seeing:", "- toolset looking  + toolset seeing"),
        ("text: Hello.", "text: Hi.", "~ prompt ask"),
        ("ask:", "beg:", "- prompt ask  + prompt beg"),
        ("text: One.", "text: Two.", "~ resource note"),
        ("note: {uri", "memo: {uri", "+ resource memo  - resource note"),
    ],
)  # fmt: skip
async def test_what_clients_are_offered_beside_tools_is_told(project, before, after, text):
    pay = "tools: {pay: {description: Pays., command: [/bin/true], effect: irreversible}}"
    offers = project.tools.parent / "offers.yaml"
    (project.tools.parent / "pay.yaml").write_text(pay)
    offers.write_text(OFFERS)
    async with project.open() as runtime:
        replace(offers, OFFERS.replace(before, after, 1))
        made = (await runtime.reload(accept_loss=True)).changes

    assert made.text == text
