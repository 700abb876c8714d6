"""Cases where one mistake could look like several: what only follows from it is not told."""

from manifest.key_case import PROJECT, Wrong, command, file, http, project, tool

USED = "[echo, --, '{{ a }}']"
REJECT = "reject: [{when: args.a > 1, reason: too much}]"
USES_TARGET = "tools: {t: {description: T., http: {target: api, url: /echo}}}"

SHADOWS = [
    Wrong("tool.title", command("§titel:"), "unknown-key"),
    Wrong("tool.retry", command("retry: {§atempts: }"), "unknown-key"),
    Wrong("http.url", http("§urll:"), "unknown-key"),
    Wrong("file.defaults", file("defaults: {§timeuot: }"), "unknown-key"),
    Wrong("file.defaults", file("defaults: {http: {§urll: }}"), "unknown-key"),
    Wrong("tool.parameters", command("parameters: {§a: }", USED)),
    Wrong("tool.parameters", command(f"parameters: {{a: §3}}\n{REJECT}", USED)),
    Wrong("tool.parameters", command(f"parameters: §read\n{REJECT}", USED)),
    Wrong("parameter.type", command(f"parameters: {{a: {{type: §thing}}}}\n{REJECT}", USED), "unknown-type"),
    Wrong("parameter.type", command("parameters: {a: {type: §3, format: path, root: .}}", USED), "bad-schema"),
    Wrong("parameter.format", command("parameters: {a: {format: §{b: c}, root: .}}", USED), "bad-schema"),
    Wrong("tool.input_schema", command(f"input_schema: {{$ref: §./no.json}}\n{REJECT}", USED),
        "unreadable-schema"),
    Wrong("tool.input_schema", command(f"input_schema: {{type: §strng}}\n{REJECT}", USED),
        "unknown-type"),
    Wrong("python.call", tool(f"python: §kit:wher\n{REJECT}"), "import-failed"),
    Wrong("http.method", http("method: §[a]\njson: {a: 1}"), "invalid-value"),
    Wrong("http.target", http("target: §[a]\nurl: /echo")),
    Wrong("http.allow_private", http("allow_private: [§{a: 1}]")),
    Wrong("file.targets", file(f"targets: §[a]\n{USES_TARGET}")),
    Wrong("file.targets", file(f"targets: {{api: §3}}\n{USES_TARGET}")),
    Wrong("file.targets", file("targets: {api: {url: [a§}}", "tools.d/a.yaml") | file(USES_TARGET),
        "yaml-syntax"),
    Wrong("tool.hitl", file("tools: {t: {description: T., hitl: §externl}}"), "invalid-value"),
    Wrong("tool.effect", file("tools: {t: {description: T., §comand: [echo]}}"), "unknown-key"),
    Wrong("project.vars", file("vars: §5s", PROJECT) | command("", "[echo, '{{ vars.place }}']")),
    Wrong("project.secrets.files", file("secrets: [{§fils: a}]", PROJECT), "unknown-key"),
    Wrong("project.defaults", project("defaults: §*quik"), "unknown-anchor"),
    Wrong("tool.timeout", command("timeout: §*quik"), "unknown-anchor"),
    Wrong("tool.result.error", command("result: {error: §1.5}"), "invalid-select"),
]  # fmt: skip
"""Also values that a part behind the shape must not choke on."""
