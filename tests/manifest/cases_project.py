"""Cases about toolrt.yaml."""

from manifest.key_case import (
    PROJECT,
    Works,
    Wrong,
    data,
    file,
    logged,
    metered,
    names,
    project,
    resolved,
    searched,
    shown,
    told_of,
    traced,
)

T = "tools: {t: {description: T., command: [printf, hello]}}"
TWO = "tools: {a: {description: A good one., command: [ls]}, b: {description: As good., command: [ls]}}"
KEY = """
tools:
  t:
    description: T.
    shell: {script: 'echo ${#KEY}', env: {KEY: "${secret:key}"}, output: json}
"""


def of_project(text: str) -> dict[str, str]:
    return file(text, PROJECT)


PROJECT_FILE = [
    Works("project.tools_dir", of_project("tools_dir: «mine¦yours»\n") | {
        "mine/a.yaml": T, "yours/b.yaml": "tools: {}"}, names(), ["t"], []),
    Wrong("project.tools_dir", of_project("tools_dir: §[a]")),
    Wrong("project.tools_dir", of_project("tools_dir: §nowhere"), "file-not-found"),
    Wrong("project.policies_dir", of_project("policies_dir: §[a]")),
    Wrong("project.policies_dir", of_project("policies_dir: §nowhere"), "file-not-found"),
    Works("project.defaults", project("«defaults: {title: Same}»", T), shown("title"), "Same", None),
    Wrong("project.defaults", of_project("defaults: §[a]")),
    Wrong("project.defaults", of_project("defaults: {§titel: a}"), "unknown-key"),
    Wrong("project.defaults", project("defaults: {command: {§cdw: .}}", T), "unknown-key"),
    Works("project.default_version", project("«default_version: explicit»", """
        tools:
          t@1: {description: T., command: ["true"]}
          t@2: {description: T., command: ["true"]}
        """), names(), ["t@1", "t@2"], ["t", "t@1"]),
    Wrong("project.default_version", of_project("default_version: §2"), "invalid-value"),
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
    Works("project.telemetry project.telemetry.metrics",
        project("telemetry: {metrics: «false¦true»}", T), metered(), False, True),
    Wrong("project.telemetry.metrics", of_project("telemetry: {metrics: §9090}")),
    Works("project.telemetry.traces", project("telemetry: {traces: «false¦true»}", T), traced(),
        False, True),
    Wrong("project.telemetry.traces",
        of_project("telemetry: {traces: §https://example.com}")),
    Works("project.telemetry.logs project.telemetry.logs.calls",
        project("telemetry: {logs: {calls: «false¦true»}}", T), logged("status"), [], ["success"]),
    Wrong("project.telemetry.logs", of_project("telemetry: {logs: §json}")),
    Wrong("project.telemetry.logs.calls", of_project("telemetry: {logs: {calls: §all}}")),
    Works("project.telemetry.logs.arguments",
        project("«telemetry: {logs: {arguments: redacted}}»", T), logged("arguments"), [{}], [None]),
    Wrong("project.telemetry.logs.arguments",
        of_project("telemetry: {logs: {arguments: §masked}}"), "invalid-value"),
]  # fmt: skip

PROJECT_LATER = [
    Wrong("project.journal", of_project("journal: §sync")),
    Wrong("project.journal.mode", of_project("journal: {mode: §fast}"), "invalid-value"),
    Wrong("project.journal.retention", of_project("journal: {retention: §30}"), "invalid-duration"),
    Wrong("project.journal.key", of_project("journal: {key: §[a]}")),
    Wrong("project.credentials", of_project("credentials: §[a]")),
    Wrong("project.credentials.header", of_project("credentials: {§github: {}}"), "missing-key"),
    Wrong("project.identities", of_project("identities: §{principal: a}")),
    Wrong("project.identities", of_project("identities: [§{principal: a}]"), "one-of"),
    Wrong("project.identities", of_project(
        "identities: §[{os_user: a, principal: a}, {os_user: a, principal: b}]"), "invalid-value"),
    Wrong("project.identities", of_project(
        "identities: §[{token_hash: a, principal: a}, {token_hash: a, principal: a}]"), "invalid-value"),
    Wrong("project.identities.token_hash",
        of_project("identities: [{token_hash: §[a], principal: a}]")),
    Wrong("project.identities.os_user", of_project("identities: [{os_user: §[a], principal: a}]")),
    Wrong("project.identities.claim", of_project("identities: [{claim: §a, principal: a}]")),
    Wrong("project.identities.claim",
        of_project("identities: [§{claim: {a: a}, os_user: b, principal: a}]"), "one-of"),
    Wrong("project.identities.principal", of_project("identities: [§{os_user: a}]"), "missing-key"),
    Wrong("project.identities.roles",
        of_project("identities: [{os_user: a, principal: a, roles: §b}]")),
    Wrong("project.identities.tenant",
        of_project("identities: [{os_user: a, principal: a, tenant: §[b]}]")),
    Wrong("project.identities.may",
        of_project("identities: [{os_user: a, principal: a, may: [§run]}]"), "invalid-value"),
    Wrong("project.serve", of_project("serve: §9000")),
    Wrong("project.serve.host", of_project("serve: {host: §[a]}")),
    Wrong("project.serve.port", of_project("serve: {port: §99999}"), "out-of-range"),
    Wrong("project.serve.public_url", of_project("serve: {public_url: §[a]}")),
    Wrong("project.serve.auth", of_project("serve: {§ahth: a}"), "unknown-key"),
    Wrong("project.approvals", of_project("approvals: §queue")),
    Wrong("project.approvals.notify", of_project("approvals: {notify: §[a]}")),
    Wrong("project.approvals.when_unattended",
        of_project("approvals: {when_unattended: §allow}"), "invalid-value"),
    Wrong("project.telemetry", of_project("§telemtry: {}"), "unknown-key"),
    Wrong("project.telemetry", of_project("telemetry: §prometheus")),
    Works("project.retrieval project.retrieval.k", project("retrieval: {«k: 1»}", TWO), searched("good"), ["a"],
        ["a", "b"]),
    Wrong("project.retrieval", of_project("retrieval: §5")),
    Wrong("project.retrieval.k", of_project("retrieval: {k: §0}"), "out-of-range"),
    Works("project.retrieval.embedder", project("retrieval: {«embedder: 'embed:near'»}", TWO) | {
        "embed.py": "def near(texts):\n    return [[len(text)] for text in texts]\n"},
        searched("other"), ["a", "b"], []),
    Wrong("project.retrieval.embedder", of_project("retrieval: {embedder: §nowhere}"),
        "import-failed"),
    Works("project.retrieval.max_description", project("retrieval: {«max_description: 40»}",
        "tools: {t: {description: A good one. It does more than anybody reads., command: [ls]}}"),
        shown("description"), "A good one."),
    Works("project.retrieval.max_told", project("retrieval: {«max_told: 1»}", TWO), told_of(), [],
        ["a", "b"], warned=["unfound-tools"]),
    Wrong("project.retrieval.max_told", of_project("retrieval: {max_told: §0}"), "out-of-range"),
    Works("project.retrieval.always", project("retrieval: {max_told: 1, «always: [a]»}", TWO),
        told_of(), ["a"], [], warned=["unfound-tools"]),
    Wrong("project.retrieval.always", of_project("retrieval: {always: §a}")),
    Wrong("project.retrieval.max_description", of_project("retrieval: {max_description: §3}"),
        "out-of-range"),
    Wrong("project.retrieval", of_project("§retreival: {}"), "unknown-key"),
    Wrong("project.builtins", of_project("builtins: [§serch_tools]"), "invalid-value"),
]  # fmt: skip

CASES = [*PROJECT_FILE, *PROJECT_LATER]
