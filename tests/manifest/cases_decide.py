"""Cases about keys that decide: policies, what tools ask of people, who is who, tests."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from manifest.key_case import (
    POLICIES,
    PROJECT,
    Bench,
    Later,
    Look,
    Works,
    Wrong,
    command,
    failure,
    file,
    http,
    names,
    of_result,
    project,
    shown,
    tool,
)

from toolrt.core.calls import Caller
from toolrt.policy.identities import of_os_user
from toolrt.rehearsal import rehearse

ADA = Caller("ada", ("cook",), "acme", "s-1", claims={"team": "blue"})
T = "tools: {t: {description: T., command: [printf, hello]}}"
TA = "tools: {t: {description: T., parameters: {a: integer}, command: [printf, '{{ a }}']}}"
ASKS = "tools: {t: {description: T., parameters: {a: integer}, command: [echo, '{{ a }}'], hitl: confirm}}"
READS = 'python: "kit:echo"\neffect: read\nresult: {select: a}'


def policies(text: str, tools: str = T) -> dict[str, str]:
    """A file of policies, and the tool that they are about."""
    return file(text, POLICIES) | file(tools)


def rule(keys: str, tools: str = TA, decide: str = "deny") -> dict[str, str]:
    """The rule `r` with these keys about a tool with the parameter `a`; all else is allowed."""
    return policies(
        "rules:\n  - {id: all, decide: allow, tools: ['*']}\n"
        f"  - {{id: r, decide: {decide}, tools: [t], {keys}}}\n",
        tools,
    )


def approval(keys: str) -> dict[str, str]:
    """What a file says of every approval, and a tool that asks for one."""
    return policies(f"approval: {{{keys}}}", ASKS)


def tests(cases: str, tools: str) -> dict[str, str]:
    """The tool `t` with these options and tests."""
    return tool(f"{tools}\ntests: {cases}")


def printf(cases: str, keys: str = "") -> dict[str, str]:
    """A command with these tests."""
    return command(f"{keys}\ntests: [{cases}]")


# -- looks ------------------------------------------------------------------------------------


def decided(name: str, /, **arguments: Any) -> Look:
    """A field of the decision on a call: `verdict`, `rule`, `would_be`."""

    async def look(bench: Bench) -> Any:
        return getattr((await bench.runtime.explain("t", arguments, ADA)).decision, name)

    return look


def terms(read: Callable[[Any], Any]) -> Look:
    """What a call of the tool, with `a` as 1, would need of people."""

    async def look(bench: Bench) -> Any:
        return read((await bench.runtime.explain("t", {"a": 1}, ADA)).decision.terms)

    return look


def paused(read: Callable[[Any], Any], **arguments: Any) -> Look:
    """What a call says that waits."""

    async def look(bench: Bench) -> Any:
        pause = (await bench.call(arguments)).pause
        return pause and read(pause)

    return look


def endings(*many: Mapping[str, Any]) -> Look:
    """The codes, or else the statuses, of several calls."""

    async def look(bench: Bench) -> Any:
        results = [await bench.call(arguments) for arguments in many]
        return [each.error.code if each.error else each.status for each in results]

    return look


def written(name: str) -> Look:
    """Whether a call that waits leaves a file of that name in the project."""

    async def look(bench: Bench) -> Any:
        await bench.call({"a": 1})
        return (bench.runtime.project / name).exists()

    return look


def soon(name: str) -> Look:
    """Whether a call that waits leads to a file of that name in the project before long."""

    async def look(bench: Bench) -> Any:
        await bench.call({"a": 1})
        for _ in range(20):
            if (bench.runtime.project / name).exists():
                return True
            await asyncio.sleep(0.05)
        return False

    return look


async def total_s(bench: Bench) -> Any:
    """The seconds that a call may take."""
    return (await bench.runtime.explain("t", {}, ADA)).tool.manifest.timeout.total


def known(read: Callable[[Caller], Any]) -> Look:
    """Who the account `ada` is."""

    async def look(bench: Bench) -> Any:
        return read(of_os_user("ada", bench.runtime.snapshot.identities))

    return look


def tested() -> Look:
    """How the tests of the project end."""

    async def look(bench: Bench) -> Any:
        async with rehearse(bench.runtime.project) as suite:
            return [(await suite.run(case)).ending for case in suite.cases]

    return look


async def _as_a_cook(bench: Bench) -> Any:
    """The end of a call by the account `ada`."""
    caller = of_os_user("ada", bench.runtime.snapshot.identities)
    result = await bench.runtime.call("t", {}, caller)
    return result.error.code if result.error else result.status


# -- cases ------------------------------------------------------------------------------------

RULES = [
    Works("policies.rules policies.rules.id",
        policies("«rules: [{id: no, decide: deny, tools: [t]}]»"), decided("rule"), "no", None),
    Wrong("policies.rules", policies("rules: §{id: a}")),
    Wrong("policies.rules", rule("§wen: 'true'"), "unknown-key"),
    Wrong("policies.rules.id", policies("rules: [§{decide: ask, tools: ['*']}]"), "missing-key"),
    Wrong("policies.rules.id", policies(
        "rules: [{id: a, decide: ask, tools: [t]}, {id: §a, decide: deny, tools: [t]}]"),
        "duplicate-rule"),
    Works("policies.rules.decide",
        policies("rules: [{id: r, decide: «deny¦allow», tools: [t]}]"), decided("verdict"), "deny",
        "allow"),
    Wrong("policies.rules.decide", policies("rules: [§{id: a, tools: ['*']}]"), "missing-key"),
    Wrong("policies.rules.decide",
        policies("rules: [{id: a, decide: §maybe, tools: ['*']}]"), "invalid-value"),
    Works("policies.rules.tools", policies("rules: [{id: r, decide: allow, tools: ['«*¦x*»']}]"),
        of_result("status"), "success", "error"),
    Wrong("policies.rules.tools",
        policies("rules: [{id: a, decide: ask, tools: §[]}]"), "out-of-range"),
    Works("policies.rules.when", rule("«when: args.a > 5»"), failure(a=1), "success",
        "unknown-tool"),
    Wrong("policies.rules.when", rule("when: §[a]")),
    Wrong("policies.rules.when", rule("when: §null"), "wrong-type"),
    Wrong("policies.rules.unless", rule("§unless: "), "wrong-type"),
    Wrong("policies.rules.approval", rule("approval: §null", decide="ask"), "wrong-type"),
    Wrong("policies.approval", policies("§approval: "), "wrong-type"),
    Wrong("policies.default", policies("§default: "), "wrong-type"),
    Wrong("policies.settings.when",
        policies("settings: [{tools: [t], timeout: 5s, when: §null}]"), "wrong-type"),
    Wrong("policies.rules.when", rule("when: args.§b > 5"), "unknown-name"),
    Wrong("policies.rules.when", rule("when: args.a §> '5'"), "type-mismatch"),
    Works("policies.rules.unless", rule("«unless: args.a < 5»"), failure(a=1), "success",
        "unknown-tool"),
    Wrong("policies.rules.unless", rule("unless: §[a]")),
    Works("policies.rules.reason", rule("when: args.a > 5«, reason: Too much.»"),
        failure("message", a=9), "`t` is denied by the rule `r`: Too much.",
        "`t` is denied by the rule `r`"),
    Wrong("policies.rules.reason", rule("reason: §[a]")),
    Works("policies.rules.mode", rule("when: args.a > 5«, mode: audit»"), failure(a=9), "success",
        "denied", warned=["audit-rule"]),
    Wrong("policies.rules.mode", rule("mode: §dry"), "invalid-value"),
    Works("policies.rules.approval", rule("«approval: {ttl: 5m}»", decide="ask"),
        terms(lambda each: each.ttl_s), 300.0, 1800.0),
    Wrong("policies.rules.approval", rule("approval: §ann")),
    Works("policies.default", policies("«default: deny»"), decided("verdict"), "deny", "allow",
          warned=["no-rule"]),
    Wrong("policies.default", policies("default: §ask"), "invalid-value"),
    Wrong("policies.default", policies("default: §allow") | file("default: deny", "policies.d/a.yaml"),
        "two-defaults"),
    Wrong("policies.rules", policies("§ruels: []"), "unknown-key"),
    Wrong("policies.rules", policies("§x-a: 1"), "unknown-key"),
]  # fmt: skip

APPROVAL = [
    Works("policies.approval policies.approval.approvers policies.approval.approvers.roles",
        approval("«approvers: {roles: [finance]}»"), terms(lambda each: each.groups[0].roles),
        ("finance",), (), warned=["too-few-approvers"]),
    Works("policies.approval.approvers.principals", approval("«approvers: {principals: [ann]}»"),
        terms(lambda each: each.groups[0].principals), ("ann",), ()),
    Works("policies.approval.count", approval("«count: 2»"),
        terms(lambda each: each.groups[0].count), 2, 1, warned=["too-few-approvers"]),
    Works("policies.approval.exclude_requester", approval("«exclude_requester: true»"),
        terms(lambda each: each.exclude_requester), True, False),
    Works("policies.approval.ttl", approval("«ttl: 5m»"), terms(lambda each: each.ttl_s), 300.0,
        1800.0),
    Works("policies.approval.execute_by", approval("«execute_by: 1h»"),
        terms(lambda each: each.execute_by_s), 3600.0, 1800.0),
    Works("policies.approval.scopes", approval("«scopes: [once, session]»"),
        terms(lambda each: each.scopes), ("once", "session"), ("once",)),
    Wrong("policies.approval", policies("approval: §ann")),
    Wrong("policies.approval.approvers", policies("approval: {approvers: §[ann]}")),
    Wrong("policies.approval.approvers.roles", policies("approval: {approvers: {roles: §a}}")),
    Wrong("policies.approval.approvers.principals",
        policies("approval: {approvers: {principals: §a}}")),
    Wrong("policies.approval.count", policies("approval: {count: §0}"), "out-of-range"),
    Wrong("policies.approval.exclude_requester", policies("approval: {exclude_requester: §yes}")),
    Wrong("policies.approval.ttl", policies("approval: {ttl: §30}"), "invalid-duration"),
    Wrong("policies.approval.execute_by", policies("approval: {execute_by: §1}"), "invalid-duration"),
    Wrong("policies.approval.ttl", policies("approval: {ttl: §0s}"), "out-of-range"),
    Wrong("policies.approval.execute_by", policies("approval: {execute_by: §0s}"), "out-of-range"),
    Wrong("policies.approval.scopes", policies("approval: {scopes: [§always]}"), "invalid-value"),
]  # fmt: skip

SETTINGS = [
    Works("policies.settings policies.settings.tools policies.settings.timeout",
        policies("«settings: [{tools: [t], timeout: 5s}]»"), shown("timeout_s"),
        {"connect": 5.0, "attempt": 30.0, "total": 5.0}),
    Works("policies.settings.retry",
        policies("settings: [{tools: ['*'], timeout: 5s«, retry: none»}]"), shown("retry"),
        {"attempts": 1, "initial": 0.1, "max": 20.0, "when": None,
         "rejected_means_not_applied": False}),
    Works("policies.settings.hitl",
        policies("settings: [{tools: [t], timeout: 5s«, hitl: confirm»}]"), failure(), "paused",
        "success"),
    Works("policies.settings.limits",
        policies("settings: [{tools: [t], timeout: 5s«, limits: {max_calls: 1}»}]", TA),
        endings({"a": 1}, {"a": 2}), ["success", "budget-exhausted"], ["success", "success"]),
    Wrong("policies.settings", policies("settings: §{tools: [a]}")),
    Wrong("policies.settings.tools", policies("settings: [§{timeout: 5s}]"), "missing-key"),
    Works("policies.settings.when",
        policies("settings: [{tools: [t], timeout: 5s«, when: '\"guest\" in caller.roles'»}]"),
        total_s, 60.0, 5.0),
    Wrong("policies.settings.when", policies("settings: [{tools: [t], when: §[a]}]")),
    Wrong("policies.settings.retry", policies("settings: [{tools: [t], retry: §2}]")),
    Wrong("policies.settings.timeout",
        policies("settings: [{tools: [t], timeout: §5}]"), "invalid-duration"),
    Wrong("policies.settings.breaker", policies("settings: [{tools: [t], breaker: §5}]")),
    Wrong("policies.settings.rate", policies("settings: [{tools: [t], rate: §5}]")),
    Wrong("policies.settings.concurrency",
        policies("settings: [{tools: [t], concurrency: §0}]"), "invalid-concurrency"),
    Wrong("policies.settings.cache",
        policies("settings: [{tools: [t], cache: {ttl: §5}}]"), "invalid-duration"),
    Wrong("policies.settings.limits", policies("settings: [{tools: [t], limits: §5}]")),
    Wrong("policies.settings.hitl", policies("settings: [{tools: [t], hitl: §ask}]"), "invalid-value"),
    Wrong("policies.settings.hitl", policies("settings: [{tools: ['*'], hitl: §none}]"),
        "hitl-by-pattern"),
    Works("policies.limits policies.limits.pending", policies("«limits: {pending: 1}»", ASKS),
        endings({"a": 1}, {"a": 2}), ["paused", "rate-limited"], ["paused", "paused"]),
    Works("policies.limits.asks", policies("«limits: {asks: 1}»", ASKS),
        endings({"a": 1}, {"a": 2}), ["paused", "rate-limited"], ["paused", "paused"]),
    Works("policies.limits.max_calls", policies("«limits: {max_calls: 1}»", TA),
        endings({"a": 1}, {"a": 2}), ["success", "budget-exhausted"], ["success", "success"]),
    Works("policies.limits.same_error", policies("«limits: {same_error: 1}»", TA),
        endings({"a": "x"}, {"a": "y"}), ["invalid-arguments", "budget-exhausted"],
        ["invalid-arguments", "invalid-arguments"]),
    Works("policies.limits.same_call", policies("«limits: {same_call: 1}»", TA),
        endings({"a": 1}, {"a": 1}), ["success", "budget-exhausted"], ["success", "success"]),
    Wrong("policies.limits", policies("limits: §50")),
    Wrong("policies.limits.max_calls", policies("limits: {max_calls: §0}"), "out-of-range"),
    Wrong("policies.limits.same_error", policies("limits: {same_error: §few}")),
    Wrong("policies.limits.same_call", policies("limits: {same_call: §few}")),
    Wrong("policies.limits.pending", policies("limits: {pending: §few}")),
    Wrong("policies.limits.asks", policies("limits: {asks: §few}")),
]  # fmt: skip

WHO = "os_user: ada, principal: ada"
PEOPLE = [
    Works("project.policies_dir", file("«policies_dir: mine»", PROJECT) | {
        "tools.d/t.yaml": T, "mine/p.yaml": "default: deny"}, decided("verdict"), "deny", "allow",
        warned=["no-rule"]),
    Works("project.policy", file("policy: required", PROJECT) | policies("«default: allow»"),
        of_result("status"), "success", refused="no-policy"),
    Wrong("project.policy", project("policy: §required", T), "no-policy"),
    Wrong("project.policy", file("policy: §optional", PROJECT), "invalid-value"),
    Works("project.state", project("«state: here.db»", ASKS), written("here.db"), True, False),
    Wrong("project.state", file("state: §[a]", PROJECT)),
    Works("project.journal project.journal.key",
        project("«journal: {key: 0123456789abcdef0123456789abcdef}»", ASKS),
        written(".toolrt/key"), False, True),
    Works("project.approvals project.approvals.when_unattended",
        project("approvals: {when_unattended: «deny¦queue»}", ASKS), failure(a=1),
        "approval-unavailable", "paused"),
    Works("project.approvals.notify", project("«approvals: {notify: u}»",
        f"{ASKS[:-1]}, u: {{description: U., shell: 'touch told'}}}}"), soon("told"), True, False),
    Wrong("project.approvals.notify", project("approvals: {notify: §x}", T), "no-such-tool"),
    Works("project.builtins", project("«builtins: [get_user_input]»", T), names(),
        ["get_user_input", "t"], ["t"]),
    Works("project.builtins", project("«builtins: [search_tools, call_tool]»", T), names(),
        ["call_tool", "search_tools", "t"], ["t"]),
    Works("project.identities project.identities.os_user",
        project("identities: [{os_user: «ada¦bob», principal: ada}]", T), _as_a_cook, "success",
        "denied"),
    Works("project.identities.principal",
        project("identities: [{os_user: ada, principal: «eve¦ada»}]", T),
        known(lambda who: who.principal), "eve", "ada"),
    Works("project.identities.roles", project(f"identities: [{{{WHO}«, roles: [cook]»}}]", T),
        known(lambda who: who.roles), ("cook",), ()),
    Works("project.identities.tenant", project(f"identities: [{{{WHO}«, tenant: acme»}}]", T),
        known(lambda who: who.tenant), "acme", None),
    Works("project.identities.may", project(f"identities: [{{{WHO}«, may: [approve]»}}]", T),
        _as_a_cook, "denied", "success"),
    Works("tool.hitl tool.hitl.mode", command("«hitl: confirm»"), failure(), "paused", "success"),
    Works("tool.hitl", command("effect: irreversible\n«hitl: none»"), failure(), "success", "paused"),
    Works("tool.hitl", file("tools: {t: {description: T., «hitl: external¦command: [echo]»}}"),
        failure(), "paused", "success"),
    Works("tool.hitl.fields", tool("""
        command: [echo, "{{ a }}", "{{ b }}"]
        parameters: {a: integer, b: integer}
        hitl: {mode: input, fields: [«a¦b»]}
        """), paused(lambda each: each.fields, b=1), ("a",), None),
    Wrong("tool.hitl.fields", command("hitl: {mode: input, fields: [§nobody]}"), "unknown-name"),
    Wrong("tool.hitl.ttl", command("hitl: {mode: confirm, ttl: §0s}"), "out-of-range"),
    Works("tool.hitl.ttl", command("hitl: {mode: confirm«, ttl: 5m»}\nparameters: {a: integer}",
        "[echo, '{{ a }}']"), terms(lambda each: each.ttl_s), 300.0, 1800.0),
    Works("tool.hitl.note", command("hitl: {mode: confirm«, note: Look.»}\nparameters: {a: integer}",
        "[echo, '{{ a }}']"), terms(lambda each: each.note), "Look.", None),
    Later("tool.hitl.channels", command("hitl: {mode: confirm, §channels: [mail]}"), "hitl.channels"),
    Works("tool.effect", command("«effect: irreversible»"), failure(), "paused", "success"),
]  # fmt: skip

MOCK = "mock: {stdout: hello}"
TESTS = [
    Works("tool.tests tool.tests.mock tool.tests.mock.stdout", command(f"«tests: [{{{MOCK}}}]»"),
        tested(), ["passed"], []),
    Wrong("tool.tests", command("tests: §{args: {}}")),
    Wrong("tool.tests", command("tests: [{§mokc: 3}]"), "unknown-key"),
    Works("tool.tests.args", tests(f"[{{«args: {{a: 1}}, »{MOCK}}}]",
        "parameters: {a: integer}\ncommand: [echo, '{{ a }}']"), tested(), ["passed"], ["failed"]),
    Wrong("tool.tests.args", command("tests: [{args: §3}]")),
    Works("tool.tests.as tool.tests.as.tenant", tests("[{«as: {tenant: acme}, »expect: {data: acme}}]",
        f"parameters: {{a: {{type: string, from: caller.tenant}}}}\n{READS}"), tested(), ["passed"],
        ["failed"]),
    Works("tool.tests.as.principal tool.tests.as.roles", tests(
        "[{as: «'ann:cook'¦ann», expect: {data: ann}}]",
        "parameters: {a: {type: string, from: caller.principal}}\n"
        f"reject: [{{when: '!(\"cook\" in caller.roles)', reason: no cook}}]\n{READS}"), tested(),
        ["passed"], ["failed"]),
    Works("tool.tests.as.session", tests("[{«as: {session: s}, »expect: {data: s}}]",
        f"parameters: {{a: {{type: string, from: caller.session}}}}\n{READS}"), tested(), ["passed"],
        ["failed"]),
    Works("tool.tests.as.claims", tests("[{«as: {claims: {team: red}}, »expect: {data: red}}]",
        f"parameters: {{a: {{type: string, from: caller.claims.team}}}}\n{READS}"), tested(),
        ["passed"], ["failed"]),
    Works("tool.tests.as.scopes", printf(f"{{as: {{principal: a«, scopes: [pay]»}}, {MOCK}}}",
        "reject: [{when: '!(\"pay\" in caller.scopes)', reason: no}]"), tested(), ["passed"],
        ["failed"]),
    Wrong("tool.tests.as", command("tests: [{as: §[a]}]")),
    Wrong("tool.tests.as", command("tests: [{as: §'ada:'}]"), "invalid-value"),
    Wrong("tool.tests.as.principal", command("tests: [{as: {principal: §[a]}}]")),
    Wrong("tool.tests.as.roles", command("tests: [{as: {roles: §a}}]")),
    Wrong("tool.tests.as.tenant", command("tests: [{as: {tenant: §[a]}}]")),
    Wrong("tool.tests.as.session", command("tests: [{as: {session: §[a]}}]")),
    Wrong("tool.tests.as.scopes", command("tests: [{as: {scopes: §a}}]")),
    Wrong("tool.tests.as.claims", command("tests: [{as: {claims: §a}}]")),
    Works("tool.tests.expect tool.tests.expect.status",
        printf(f"{{{MOCK}«, expect: {{status: error}}»}}"), tested(), ["failed"], ["passed"]),
    Works("tool.tests.expect.code", printf(f"{{{MOCK}«, expect: {{code: timeout}}»}}"), tested(),
        ["failed"], ["passed"]),
    Works("tool.tests.expect.data", printf(f"{{{MOCK}«, expect: {{data: goodbye}}»}}"), tested(),
        ["failed"], ["passed"]),
    Works("tool.tests.expect.text", printf(f"{{{MOCK}«, expect: {{text: goodbye}}»}}"), tested(),
        ["failed"], ["passed"]),
    Works("tool.tests.expect.decision", printf(f"{{{MOCK}«, expect: {{decision: deny}}»}}"), tested(),
        ["failed"], ["passed"]),
    Wrong("tool.tests.expect", command("tests: [{expect: §success}]")),
    Wrong("tool.tests.expect.status", command("tests: [{expect: {status: §good}}]"), "invalid-value"),
    Wrong("tool.tests.expect.code", command("tests: [{expect: {code: §Not Found}}]"), "invalid-value"),
    Wrong("tool.tests.expect.data", command("tests: [{expect: {§daat: 1}}]"), "unknown-key"),
    Wrong("tool.tests.expect.text", command("tests: [{expect: {text: §[a]}}]")),
    Wrong("tool.tests.expect.decision", command("tests: [{expect: {decision: §maybe}}]"), "invalid-value"),
    Works("tool.tests.mock.json", printf("{mock: {json: «[1]¦[2]»}, expect: {data: [1]}}"), tested(),
        ["passed"], ["failed"]),
    Works("tool.tests.mock.text", printf("{mock: {text: «hello¦bye»}, expect: {text: hello}}"), tested(),
        ["passed"], ["failed"]),
    Works("tool.tests.mock.status", http("url: $URL/echo",
        "tests: [{mock: {json: {a: 1}, status: «404¦200»}, expect: {code: not-found}}]"), tested(),
        ["passed"], ["failed"]),
    Works("tool.tests.mock.exit_code",
        printf("{mock: {stdout: a«, exit_code: 3»}, expect: {status: error}}"), tested(), ["passed"],
        ["failed"]),
    Works("tool.tests.mock.stderr", printf(
        "{mock: {exit_code: 3«, stderr: broke»}, expect: {status: error, text: broke}}"), tested(),
        ["passed"], ["failed"]),
    Works("tool.tests.mock.error tool.tests.mock.error.code", printf(
        "{mock: {error: {code: «not-found¦conflict»}}, expect: {code: not-found}}"), tested(),
        ["passed"], ["failed"]),
    Works("tool.tests.mock.error.message", printf(
        "{mock: {error: {«message: lost»}}, expect: {status: error, text: lost}}"), tested(),
        ["passed"], ["failed"]),
    Works("tool.tests.mock.error.hint tool.tests.mock.error.retryable", printf(
        "{mock: {error: {hint: h, retryable: true}}, expect: {status: «error¦success»}}"), tested(),
        ["passed"], ["failed"]),
    Works("tool.tests.mock.approved", printf("{mock: {stdout: a«, approved: true»}}",
        "hitl: confirm"), tested(), ["passed"], ["failed"]),
    Wrong("tool.tests.mock", command("tests: [{mock: §3}]")),
    Wrong("tool.tests.mock", command("tests: [{mock: {§jsno: 3}}]"), "unknown-key"),
    Wrong("tool.tests.mock.json", command("tests: [{mock: §{json: 1, text: a}}]"), "one-of"),
    Wrong("tool.tests.mock.text", command("tests: [{mock: {text: §[a]}}]")),
    Wrong("tool.tests.mock.status", command("tests: [{mock: {status: §42}}]"), "out-of-range"),
    Wrong("tool.tests.mock.exit_code", command("tests: [{mock: {exit_code: §256}}]"), "out-of-range"),
    Wrong("tool.tests.mock.stdout", command("tests: [{mock: {stdout: §[a]}}]")),
    Wrong("tool.tests.mock.stderr", command("tests: [{mock: {stdout: a, stderr: §[a]}}]")),
    Wrong("tool.tests.mock.error", command("tests: [{mock: {error: §broken}}]")),
    Wrong("tool.tests.mock.error.code", command("tests: [{mock: {error: {code: §Not Found}}}]"),
        "invalid-value"),
    Wrong("tool.tests.mock.error.message", command("tests: [{mock: {error: {message: §[a]}}}]")),
    Wrong("tool.tests.mock.error.hint", command("tests: [{mock: {error: {hint: §[a]}}}]")),
    Wrong("tool.tests.mock.error.retryable", command("tests: [{mock: {error: {retryable: §maybe}}}]")),
    Wrong("tool.tests.mock.approved", command("tests: [{mock: {text: a, approved: §maybe}}]")),
    Wrong("tool.tests.mock.approved", command("tests: [{mock: §{approved: true}}]"), "one-of"),
    Later("tool.tests.mock.status", command("tests: [{mock: {§status: 500}}]"), "status", "no-effect"),
    Later("tool.tests.mock.exit_code", http("url: $URL/echo", "tests: [{mock: {§exit_code: 3}}]"),
        "exit_code", "no-effect"),
    Works("policies.rules.tests policies.rules.tests.expect policies.rules.tests.call "
        "policies.rules.tests.call.tool policies.rules.tests.call.args",
        rule("when: args.a > 5, tests: [{expect: match, call: {tool: t, args: {a: «9¦3»}}}]"),
        tested(), ["passed"], ["failed"]),
    Works("policies.rules.tests.call.as", rule(
        "when: '\"cook\" in caller.roles', tests: "
        "[{expect: match, call: {tool: t, args: {a: 1}«, as: 'ann:cook'»}}]"), tested(), ["passed"],
        ["failed"]),
    Works("policies.rules.tests.call.history", rule(
        "when: 'history.calls(\"10m\") >= 3', tests: "
        "[{expect: match, call: {tool: t, args: {a: 1}«, history: 3»}}]"), tested(), ["passed"],
        ["failed"]),
    Wrong("policies.rules.tests", rule("tests: §a")),
    Wrong("policies.rules.tests.expect",
        rule("tests: [{expect: §yes, call: {tool: t}}]"), "invalid-value"),
    Wrong("policies.rules.tests.call", rule("tests: [§{expect: match}]"), "missing-key"),
    Wrong("policies.rules.tests.call", rule("tests: [{expect: match, call: {tool: t, §agrs: {}}}]"),
        "unknown-key"),
    Wrong("policies.rules.tests.call.tool", rule("tests: [{expect: match, §call: {args: {}}}]"),
        "missing-key"),
    Later("policies.rules.tests.call.tool", rule("tests: [{expect: match, call: {tool: §tt}}]"), "tt",
        "no-such-tool"),
    Wrong("policies.rules.tests.call.args",
        rule("tests: [{expect: match, call: {tool: t, args: §3}}]")),
    Wrong("policies.rules.tests.call.as",
        rule("tests: [{expect: match, call: {tool: t, as: §[a]}}]")),
    Wrong("policies.rules.tests.call.history",
        rule("tests: [{expect: match, call: {tool: t, history: §-1}}]"), "out-of-range"),
]  # fmt: skip

CASES = [*RULES, *APPROVAL, *SETTINGS, *PEOPLE, *TESTS]
