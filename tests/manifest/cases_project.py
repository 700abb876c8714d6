"""Cases about toolrt.yaml, and about files of policies."""

from manifest.key_case import (
    POLICIES,
    PROJECT,
    Later,
    Works,
    Wrong,
    data,
    file,
    names,
    project,
    resolved,
    shown,
    warned,
)

T = "tools: {t: {description: T., command: [printf, hello]}}"
KEY = """
tools:
  t:
    description: T.
    shell: {script: 'echo ${#KEY}', env: {KEY: "${secret:key}"}, output: json}
"""


def policies(text: str) -> dict[str, str]:
    return file(text, POLICIES)


def of_project(text: str) -> dict[str, str]:
    return file(text, PROJECT)


PROJECT_FILE = [
    Works("project.tools_dir", of_project("tools_dir: «mine¦yours»\n") | {
        "mine/a.yaml": T, "yours/b.yaml": "tools: {}"}, names(), ["t"], []),
    Wrong("project.tools_dir", of_project("tools_dir: §[a]")),
    Wrong("project.tools_dir", of_project("tools_dir: §nowhere"), "file-not-found"),
    Works("project.policies_dir", of_project("«policies_dir: mine»") | {
        "tools.d/t.yaml": T, "mine/p.yaml": "default: allow"}, warned(), ["not-yet"], [],
        warned=["not-yet"]),
    Wrong("project.policies_dir", of_project("policies_dir: §[a]")),
    Wrong("project.policies_dir", of_project("policies_dir: §nowhere"), "file-not-found"),
    Works("project.defaults", project("«defaults: {title: Same}»", T), shown("title"), "Same", None),
    Wrong("project.defaults", of_project("defaults: §[a]")),
    Wrong("project.defaults", of_project("defaults: {§titel: a}"), "unknown-key"),
    Wrong("project.defaults", project("defaults: {command: {§cdw: .}}", T), "unknown-key"),
    Works("project.vars", project("vars: {place: «here¦there»}", """
        tools:
          t: {description: T., command: [printf, "{{ vars.place }}"]}
        """), data(), "here"),
    Wrong("project.vars", of_project("vars: §[a]")),
    Wrong("project.vars", of_project("vars: {a: {b: ['x §${env:TOKEN}']}}"), "bad-reference"),
    Wrong("project.vars", project("vars: {place: here}", """
        tools:
          t: {description: T., command: [printf, "{{ vars.§plaec }}"]}
        """), "unknown-name"),
    Works("project.secrets", project("secrets: [«env»]", KEY), data(), len("from-env")),
    Works("project.secrets.files", project("«secrets: [{files: .}]»", KEY) | {"key": "of-a-file\n"},
        data(), len("of-a-file"), len("from-env")),
    Works("project.secrets.command", project("«secrets: [{command: [printf, of-a-command]}]»", KEY),
        data(), len("of-a-command"), len("from-env")),
    Wrong("project.secrets", of_project("secrets: §env")),
    Wrong("project.secrets", of_project("secrets: [§vault]"), "invalid-value"),
    Wrong("project.secrets.files", of_project("secrets: [{files: §[a]}]")),
    Wrong("project.secrets.files", of_project("secrets: [{§fils: a}]"), "unknown-key"),
    Wrong("project.secrets.command", of_project("secrets: [{command: §pass}]")),
    Wrong("project.secrets.command", of_project("secrets: [{command: §[]}]"), "out-of-range"),
    Works("project.x-", project("x-a: &quick {timeout: 3s}\ndefaults: {«<<: *quick»}", T),
        resolved("timeout.total"), "toolrt.yaml project defaults", None),
    Wrong("project.x-", of_project("x-a: &quick {timeout: 3s}\ndefaults: §*quik"), "unknown-anchor"),
    Wrong("project.vars", of_project("§vras: {}"), "unknown-key"),
]  # fmt: skip

PROJECT_LATER = [
    Later("project.state", of_project("§state: postgresql://db/tools"), "state"),
    Wrong("project.state", of_project("state: §[a]")),
    Later("project.policy", of_project("§policy: required"), "policy"),
    Wrong("project.policy", of_project("policy: §optional"), "invalid-value"),
    Later("project.journal project.journal.mode project.journal.retention project.journal.key",
        of_project("§journal: {mode: sync, retention: 30d, key: '${env:K}'}"), "journal"),
    Wrong("project.journal", of_project("journal: §sync")),
    Wrong("project.journal.mode", of_project("journal: {mode: §fast}"), "invalid-value"),
    Wrong("project.journal.retention", of_project("journal: {retention: §30}"), "invalid-duration"),
    Wrong("project.journal.key", of_project("journal: {key: §[a]}")),
    Later("project.credentials project.credentials.header",
        of_project("§credentials: {github: {header: X-GitHub-Token}}"), "credentials"),
    Wrong("project.credentials", of_project("credentials: §[a]")),
    Wrong("project.credentials.header", of_project("credentials: {§github: {}}"), "missing-key"),
    Later("project.identities project.identities.os_user project.identities.principal "
        "project.identities.roles project.identities.tenant project.identities.may", of_project(
        "§identities: [{os_user: ada, principal: ada, roles: [cook], tenant: acme, may: [call]}]"),
        "identities"),
    Later("project.identities.token_hash",
        of_project("§identities: [{token_hash: abc, principal: ada}]"), "identities"),
    Later("project.identities.claim",
        of_project("§identities: [{claim: {sub: a}, principal: ada}]"), "identities"),
    Wrong("project.identities", of_project("identities: §{principal: a}")),
    Wrong("project.identities", of_project("identities: [§{principal: a}]"), "one-of"),
    Wrong("project.identities.token_hash",
        of_project("identities: [{token_hash: §[a], principal: a}]")),
    Wrong("project.identities.os_user", of_project("identities: [{os_user: §[a], principal: a}]")),
    Wrong("project.identities.claim",
        of_project("identities: [§{claim: a, os_user: b, principal: a}]"), "one-of"),
    Wrong("project.identities.principal", of_project("identities: [§{os_user: a}]"), "missing-key"),
    Wrong("project.identities.roles",
        of_project("identities: [{os_user: a, principal: a, roles: §b}]")),
    Wrong("project.identities.tenant",
        of_project("identities: [{os_user: a, principal: a, tenant: §[b]}]")),
    Wrong("project.identities.may",
        of_project("identities: [{os_user: a, principal: a, may: [§run]}]"), "invalid-value"),
    Later("project.serve project.serve.host project.serve.port project.serve.public_url "
        "project.serve.auth", of_project(
        "§serve: {host: 0.0.0.0, port: 9000, public_url: https://example.com, auth: {}}"), "serve"),
    Wrong("project.serve", of_project("serve: §9000")),
    Wrong("project.serve.host", of_project("serve: {host: §[a]}")),
    Wrong("project.serve.port", of_project("serve: {port: §99999}"), "out-of-range"),
    Wrong("project.serve.public_url", of_project("serve: {public_url: §[a]}")),
    Wrong("project.serve.auth", of_project("serve: {§ahth: a}"), "unknown-key"),
    Later("project.approvals project.approvals.notify project.approvals.when_unattended",
        of_project("§approvals: {notify: mail.send, when_unattended: deny}"), "approvals"),
    Wrong("project.approvals", of_project("approvals: §queue")),
    Wrong("project.approvals.notify", of_project("approvals: {notify: §[a]}")),
    Wrong("project.approvals.when_unattended",
        of_project("approvals: {when_unattended: §allow}"), "invalid-value"),
    Later("project.telemetry", of_project("§telemetry: {otlp: https://example.com}"), "telemetry"),
    Wrong("project.telemetry", of_project("§telemtry: {}"), "unknown-key"),
    Later("project.retrieval", of_project("§retrieval: {k: 5}"), "retrieval"),
    Wrong("project.retrieval", of_project("§retreival: {}"), "unknown-key"),
    Later("project.agent", of_project("§agent: {model: m}"), "agent"),
    Wrong("project.agent", of_project("§agnet: {}"), "unknown-key"),
    Later("project.builtins", of_project("§builtins: [search_tools]"), "builtins"),
    Wrong("project.builtins", of_project("builtins: [§serch_tools]"), "invalid-value"),
]  # fmt: skip

RULE = "id: a, decide: ask, tools: ['*']"

POLICIES_FILE = [
    Later("policies.rules policies.rules.id policies.rules.decide policies.rules.tools "
        "policies.rules.when policies.rules.unless policies.rules.reason policies.rules.mode "
        "policies.rules.approval policies.rules.tests policies.rules.tests.expect "
        "policies.rules.tests.call", policies("""
        §rules:
          - id: big
            decide: ask
            tools: ["billing.*"]
            when: args.amount > 500
            unless: '"finance" in caller.roles'
            reason: Payments over 500 need finance.
            mode: audit
            approval: {ttl: 30m}
            tests: [{expect: match, call: {tool: billing.pay, args: {amount: 900}}}]
        """), "rules"),
    Wrong("policies.rules", policies("rules: §{id: a}")),
    Wrong("policies.rules", policies(f"rules: [{{{RULE}, §wen: a}}]"), "unknown-key"),
    Wrong("policies.rules.id", policies("rules: [§{decide: ask, tools: ['*']}]"), "missing-key"),
    Wrong("policies.rules.decide", policies("rules: [§{id: a, tools: ['*']}]"), "missing-key"),
    Wrong("policies.rules.decide",
        policies("rules: [{id: a, decide: §maybe, tools: ['*']}]"), "invalid-value"),
    Wrong("policies.rules.tools",
        policies("rules: [{id: a, decide: ask, tools: §[]}]"), "out-of-range"),
    Wrong("policies.rules.when", policies(f"rules: [{{{RULE}, when: §[a]}}]")),
    Wrong("policies.rules.unless", policies(f"rules: [{{{RULE}, unless: §[a]}}]")),
    Wrong("policies.rules.reason", policies(f"rules: [{{{RULE}, reason: §[a]}}]")),
    Wrong("policies.rules.mode", policies(f"rules: [{{{RULE}, mode: §dry}}]"), "invalid-value"),
    Wrong("policies.rules.approval", policies(f"rules: [{{{RULE}, approval: §ann}}]")),
    Wrong("policies.rules.tests", policies(f"rules: [{{{RULE}, tests: §a}}]")),
    Wrong("policies.rules.tests.expect",
        policies(f"rules: [{{{RULE}, tests: [{{expect: §yes, call: {{}}}}]}}]"), "invalid-value"),
    Wrong("policies.rules.tests.call",
        policies(f"rules: [{{{RULE}, tests: [§{{expect: match}}]}}]"), "missing-key"),
    Later("policies.approval policies.approval.approvers policies.approval.approvers.roles "
        "policies.approval.approvers.principals policies.approval.count "
        "policies.approval.exclude_requester policies.approval.ttl policies.approval.execute_by "
        "policies.approval.scopes", policies("""
        §approval:
          approvers: {roles: [finance], principals: [ann]}
          count: 2
          exclude_requester: true
          ttl: 30m
          execute_by: 1h
          scopes: [once, session]
        """), "approval"),
    Wrong("policies.approval", policies("approval: §ann")),
    Wrong("policies.approval.approvers", policies("approval: {approvers: §[ann]}")),
    Wrong("policies.approval.approvers.roles", policies("approval: {approvers: {roles: §a}}")),
    Wrong("policies.approval.approvers.principals",
        policies("approval: {approvers: {principals: §a}}")),
    Wrong("policies.approval.count", policies("approval: {count: §0}"), "out-of-range"),
    Wrong("policies.approval.exclude_requester", policies("approval: {exclude_requester: §yes}")),
    Wrong("policies.approval.ttl", policies("approval: {ttl: §30}"), "invalid-duration"),
    Wrong("policies.approval.execute_by", policies("approval: {execute_by: §1}"), "invalid-duration"),
    Wrong("policies.approval.scopes", policies("approval: {scopes: [§always]}"), "invalid-value"),
    Later("policies.default", policies("§default: deny"), "default"),
    Wrong("policies.default", policies("default: §ask"), "invalid-value"),
    Later("policies.settings policies.settings.tools policies.settings.when "
        "policies.settings.retry policies.settings.timeout policies.settings.breaker "
        "policies.settings.rate policies.settings.concurrency policies.settings.cache "
        "policies.settings.limits policies.settings.hitl", policies("""
        §settings:
          - tools: ["weather.*"]
            when: '"guest" in caller.roles'
            retry: {attempts: 2}
            timeout: 5s
            breaker: {failures: 2}
            rate: 10/1m
            concurrency: 2
            cache: 1m
            limits: {max_calls: 3}
            hitl: none
        """), "settings"),
    Wrong("policies.settings", policies("settings: §{tools: [a]}")),
    Wrong("policies.settings.tools", policies("settings: [§{timeout: 5s}]"), "missing-key"),
    Wrong("policies.settings.when", policies("settings: [{tools: [a], when: §[a]}]")),
    Wrong("policies.settings.retry", policies("settings: [{tools: [a], retry: §2}]")),
    Wrong("policies.settings.timeout",
        policies("settings: [{tools: [a], timeout: §5}]"), "invalid-duration"),
    Wrong("policies.settings.breaker", policies("settings: [{tools: [a], breaker: §5}]")),
    Wrong("policies.settings.rate", policies("settings: [{tools: [a], rate: §5}]")),
    Wrong("policies.settings.concurrency",
        policies("settings: [{tools: [a], concurrency: §0}]"), "invalid-concurrency"),
    Wrong("policies.settings.cache",
        policies("settings: [{tools: [a], cache: {ttl: §5}}]"), "invalid-duration"),
    Wrong("policies.settings.limits", policies("settings: [{tools: [a], limits: §5}]")),
    Wrong("policies.settings.hitl", policies("settings: [{tools: [a], hitl: §ask}]"), "invalid-value"),
    Later("policies.limits policies.limits.max_calls policies.limits.same_error "
        "policies.limits.same_call policies.limits.pending policies.limits.asks", policies(
        "§limits: {max_calls: 50, same_error: 3, same_call: 3, pending: 50, asks: 20}"), "limits"),
    Wrong("policies.limits", policies("limits: §50")),
    Wrong("policies.limits.max_calls", policies("limits: {max_calls: §0}"), "out-of-range"),
    Wrong("policies.limits.same_error", policies("limits: {same_error: §few}")),
    Wrong("policies.limits.same_call", policies("limits: {same_call: §few}")),
    Wrong("policies.limits.pending", policies("limits: {pending: §few}")),
    Wrong("policies.limits.asks", policies("limits: {asks: §few}")),
    Wrong("policies.rules", policies("§ruels: []"), "unknown-key"),
    Wrong("policies.rules", policies("§x-a: 1"), "unknown-key"),
]  # fmt: skip

CASES = [*PROJECT_FILE, *PROJECT_LATER, *POLICIES_FILE]
