"""Cases about the keys of a tool, of its file, and of its parameters, but for its kind."""

from typing import Any

from manifest.key_case import (
    PROJECT,
    TOOLS,
    Bench,
    Later,
    Works,
    Wrong,
    address,
    command,
    data,
    failure,
    file,
    http,
    names,
    of_result,
    requested,
    resolved,
    shown,
    slept,
    tool,
)

PYTHON = 'python: "kit:answer"'
ECHO = 'python: "kit:echo"'


async def sign(bench: Bench) -> Any:
    """What the shop of a source is called."""
    return (await bench.call({}, "a.sign")).data


FILE = [
    Works("file.namespace", file("""
        «namespace: n»
        tools:
          t: {description: T., command: [printf, hello]}
        """), names(), ["n.t"], ["t"]),
    Wrong("file.namespace", file("namespace: §Big"), "out-of-range"),
    Wrong("file.namespace", file("namespace: §[a]")),
    Works("file.defaults", file("""
        «defaults: {title: Same}»
        tools:
          t: {description: T., command: [printf, hello]}
        """), shown("title"), "Same", None),
    Wrong("file.defaults", file("defaults: §[a]")),
    Wrong("file.defaults", file("defaults: {§timeuot: 3s}"), "unknown-key"),
    Wrong("file.defaults", file("defaults: {http: {§urll: a}}"), "unknown-key"),
    Wrong("file.defaults", file("""
        defaults:
          timeout: §soon
        tools:
          t: {description: T., command: [printf, hello]}
          u: {description: U., command: [printf, hello]}
          v: {description: V., command: [printf, hello], timeout: 3s}
        """), "invalid-duration"),
    Works("file.targets", file("""
        «targets: {api: {url: $URL}}»
        tools:
          t: {description: T., http: {target: api, url: /echo}}
        """), data("target"), "/echo", refused="unknown-target"),
    Wrong("file.targets", file("targets: §[a]")),
    Works("file.tools", file("""
        «tools:
          t: {description: T., command: [printf, hello]}»
        """), names(), ["t"], []),
    Wrong("file.tools", file("tools: §[a]")),
    Wrong("file.tools", file("tools: {a: §3}")),
    Wrong("file.tools", file("""
        tools:
          §Loud: {description: T., command: [printf, hello]}
        """), "bad-name"),
    Wrong("file.tools", file("§toools: {}"), "unknown-key"),
    Works("file.x-", file("""
        «x-quick: &quick {timeout: 3s}»
        tools:
          t: {description: T., command: [printf, hello], «<<: *quick»}
        """), resolved("timeout.total"), "tools.d/t.yaml tool", None),
    Wrong("file.x-", file("""
        x-quick: &quick {timeout: 3s}
        tools:
          t: {description: T., command: [printf, hello], <<: §*quik}
        """), "unknown-anchor"),
]  # fmt: skip

TOOL = [
    Works("tool.description",
        file("tools: {t: {description: «Useful.¦Useless.», command: [printf, hello]}}"),
        shown("description"), "Useful."),
    Wrong("tool.description", file("""
        tools:
          §t: {command: [printf, hello]}
        """), "missing-key"),
    Wrong("tool.description", file("tools: {t: {description: §[a], command: [printf, hello]}}")),
    Wrong("tool.description",
        file("tools: {t: {description: §'', command: [printf, hello]}}"), "out-of-range"),
    Works("tool.title", command("«title: A title»"), shown("title"), "A title", None),
    Wrong("tool.title", command("title: §[a]")),
    Works("tool.tags", command("«tags: [a, 2]»"), shown("tags"), ["a", "2"], []),
    Wrong("tool.tags", command("tags: §a")),
    Wrong("tool.tags", command("tags: [a, §[b]]")),
    Works("tool.version", command("«version: 1.10»"), shown("version"), "1.10", None),
    Wrong("tool.version", command("version: §{a: b}")),
    Works("tool.deprecated", command("«deprecated: use u»"), shown("deprecated"), "use u", None),
    Wrong("tool.deprecated", command("deprecated: §[a]")),
    Wrong("tool.deprecated", command("deprecated: §false"), "invalid-value"),
    Works("tool.enabled", command("«enabled: false»"), names(), [], ["t"]),
    Wrong("tool.enabled", command("enabled: §no")),
    Works("tool.instructions", command("«instructions: Gently.»"),
        shown("instructions"), "Gently.", None),
    Wrong("tool.instructions", command("instructions: §[a]")),
    Works("tool.parameters", tool(f"""
        {ECHO}
        parameters: {{a: string«, b: integer»}}
        """), data(a="x", b=3), {"a": "x", "b": 3}),
    Wrong("tool.parameters", command("parameters: §[a]")),
    Wrong("tool.parameters", command("parameters: {a: §strng}"), "unknown-type"),
    Wrong("tool.parameters", command("parameters: {a: §3}")),
    Wrong("tool.parameters", command("§parameters: {type: object, properties: {a: {}}}"),
        "schema-under-parameters"),
    Wrong("tool.parameters", command("parameters: {§caller: string}"), "reserved-name"),
    Wrong("tool.parameters", command("parameters: {§a-b: string}"), "bad-name"),
    Works("tool.input_schema", tool(f"""
        {ECHO}
        input_schema: {{properties: {{a: {{}}«, b: {{type: integer}}»}}, additionalProperties: false}}
        """), data(a="x", b=3), {"a": "x", "b": 3}),
    Works("tool.input_schema", tool(f"""
        {ECHO}
        input_schema: {{$ref: ./«a¦b».json}}
        """) | {
            "tools.d/a.json": '{"properties": {"a": {"type": "integer"}}}',
            "tools.d/b.json": '{"properties": {"a": {"type": "string"}}}',
        }, data(a=3), {"a": 3}),
    Works("tool.input_schema", tool(f"""
        {ECHO}
        input_schema: {{properties: {{who: {{type: string«, from: caller.principal»}}}}}}
        """), data(), {"who": "ada"}),
    Wrong("tool.input_schema", command("input_schema: §[a]")),
    Wrong("tool.input_schema", command("input_schema: {type: §strng}"), "unknown-type"),
    Wrong("tool.input_schema", command("input_schema: {type: §array}")),
    Wrong("tool.input_schema", command("input_schema: {$ref: §./no.json}"), "unreadable-schema"),
    Wrong("tool.input_schema", command("parameters: {}\n§input_schema: {}"), "two-schemas"),
    Wrong("tool.input_schema",
        command("input_schema: {properties: {a: {from: §caller.tenan}}}"), "unknown-source"),
    Works("tool.output_schema", command("«output_schema: {type: string}»"),
        shown("output_schema"), {"type": "string"}, None),
    Works("tool.output_schema", command("«output_schema: {$ref: ./a.json}»") | {
            "tools.d/a.json": '{"type": "string"}'},
        shown("output_schema"), {"type": "string"}, None),
    Wrong("tool.output_schema", command("output_schema: §[a]")),
    Wrong("tool.output_schema", command("output_schema: {minimum: §a}"), "bad-schema"),
    *(
        Works(f"tool.{kind}", tool(f"«{kind}: {one}¦{other}»"), shown("kind"), kind)
        for kind, one, other in (
            ("python", "kit:where", "command: [printf, hello]"),
            ("http", "http://127.0.0.1/", "command: [printf, hello]"),
            ("command", "[printf, hello]", "shell: printf hello"),
            ("shell", "printf hello", "command: [printf, hello]"),
        )
    ),
    Wrong("tool.python", tool("python: kit:where\n§http: http://127.0.0.1/"), "one-kind"),
    Wrong("tool.http", tool("§htp: http://127.0.0.1/"), "unknown-key"),
    Wrong("tool.command", file("tools: {§t: {description: T.}}"), "no-kind"),
    Wrong("tool.command", tool("command: §df -h"), "not-a-list"),
    Wrong("tool.shell", tool("shell: §[df]")),
    Works("tool.effect", http("url: $URL/flaky\nmethod: POST", """
        «effect: read»
        retry: {initial: 1ms}
        """), of_result("attempts"), 2, 1),
    Works("tool.effect", http("url: $URL/echo", "«effect: write»"), shown("effect"), "write", "read"),
    Wrong("tool.effect", command("effect: §reads"), "invalid-value"),
    Works("tool.idempotent", http("url: $URL/flaky\nmethod: POST", """
        «idempotent: true»
        retry: {initial: 1ms}
        """), of_result("attempts"), 2, 1),
    Wrong("tool.idempotent", command("idempotent: §yes")),
    Works("tool.coerce", command("""
        parameters: {a: integer}
        «coerce: safe»
        """, '[printf, "%s", "{{ a }}"]'), data(a="3"), "3"),
    Wrong("tool.coerce", command("coerce: §all"), "invalid-value"),
    Works("tool.reject tool.reject.when tool.reject.reason", command("""
        parameters: {a: integer, b: integer}
        «reject: [{when: args.a > args.b, reason: a comes first}]»
        """, '[printf, "%s", "{{ a }}", "{{ b }}"]'),
        failure("message", a=2, b=1), "a comes first", "success"),
    Wrong("tool.reject", command("reject: §{when: 'true', reason: no}")),
    Wrong("tool.reject", command("reject: [§3]")),
    Wrong("tool.reject.when", command("reject: [{when: §[a], reason: no}]")),
    Wrong("tool.reject.when", command("reject: [{when: args.§a > 1, reason: no}]"), "unknown-name"),
    Wrong("tool.reject.reason", command("reject: [{when: 'true', reason: §[a]}]")),
    Wrong("tool.reject.reason", command("reject: [§{when: 'true'}]"), "missing-key"),
    Wrong("tool.hitl", command("hitl: §ask"), "invalid-value"),
    Wrong("tool.hitl", command("hitl: §[a]"), "invalid-value"),
    Wrong("tool.effect", command("§efect: read"), "unknown-key"),
]  # fmt: skip

NAP = "[sleep, '2']"

LIMITS = [
    Works("tool.timeout", command("«timeout: 150ms»", "[sleep, '0.3']"),
        failure(), "timeout", "success"),
    Wrong("tool.timeout", command("timeout: §3"), "invalid-duration"),
    Wrong("tool.timeout", command("timeout: {§totl: 3s}"), "unknown-key"),
    Works("tool.timeout.connect",
        http("url: $TLS/echo", "timeout: {«connect: 60ms, »attempt: 400ms}\nretry: none"),
        failure("message"), "no connection to the service in time", "no answer within 0.4 s"),
    Wrong("tool.timeout.connect", command("timeout: {connect: §soon}"), "invalid-duration"),
    Works("tool.timeout.attempt",
        command("timeout: {«attempt: 100ms, »total: 400ms}\neffect: read\nretry: {attempts: 2, initial: 1ms}", NAP),
        of_result("attempts"), 2, 1),
    Wrong("tool.timeout.attempt", command("timeout: {attempt: §5}"), "invalid-duration"),
    Works("tool.timeout.total", command("timeout: {«total: 100ms»}", "[sleep, '0.3']"),
        failure(), "timeout", "success"),
    Wrong("tool.timeout.total", command("timeout: {total: §[a]}"), "invalid-duration"),
    Wrong("tool.timeout.total", command("timeout: {total: §0s}"), "out-of-range"),
    Works("tool.retry", http("url: $URL/down", "«retry: none»"),
        of_result("attempts"), 1, 3, held=True),
    Wrong("tool.retry", command("retry: §3")),
    Wrong("tool.retry", command("retry: {§atempts: 3}"), "unknown-key"),
    Works("tool.retry.attempts", http("url: $URL/down", "retry: {«attempts: 5»}"),
        of_result("attempts"), 5, 3, held=True),
    Wrong("tool.retry.attempts", command("retry: {attempts: §many}")),
    Wrong("tool.retry.attempts", command("retry: {attempts: §11}"), "out-of-range"),
    Works("tool.retry.initial", http("url: $URL/down", "retry: {«initial: 3s»}"),
        slept(), [3, 6], [0.1, 0.2], held=True),
    Wrong("tool.retry.initial", command("retry: {initial: §1}"), "invalid-duration"),
    Works("tool.retry.max", http("url: $URL/down", "retry: {attempts: 4, «max: 150ms»}"),
        slept(), [0.1, 0.15, 0.15], [0.1, 0.2, 0.4], held=True),
    Wrong("tool.retry.max", command("retry: {max: §1}"), "invalid-duration"),
    Works("tool.retry.when", http("url: $URL/down", "retry: {«when: status == 500»}"),
        of_result("attempts"), 1, 3, held=True),
    Wrong("tool.retry.when", command("retry: {when: §[a]}")),
    Wrong("tool.retry.when", command("retry: {when: §statu == 500}"), "unknown-name"),
    Works("tool.retry.rejected_means_not_applied",
        http("url: $URL/busy\nmethod: POST", "retry: {«rejected_means_not_applied: true»}"),
        of_result("attempts"), 3, 1, held=True),
    Wrong("tool.retry.rejected_means_not_applied",
        command("retry: {rejected_means_not_applied: §always}")),
]  # fmt: skip

RESULT = [
    Works("tool.result tool.result.failed_when",
        tool(f"{PYTHON}\n«result: {{failed_when: result.ok == false}}»"),
        failure(), "execution-failed", "success"),
    Wrong("tool.result", command("result: §text")),
    Wrong("tool.result", command("result: {§selct: a}"), "unknown-key"),
    Wrong("tool.result.failed_when", command("result: {failed_when: §[a]}")),
    Wrong("tool.result.failed_when", command("result: {failed_when: result.ok ==§}"), "invalid-condition"),
    Works("tool.result.error", http("url: $URL/down", """
        retry: none
        result: {«error: problem.text»}
        """), failure("message"), "shop closed"),
    Wrong("tool.result.error", command("result: {error: §[a]}")),
    Wrong("tool.result.error", command("result: {error: 'a.§'}"), "invalid-select"),
    Works("tool.result.select", tool(f"{PYTHON}\nresult: {{«select: 'rows[0]'»}}"), data(), 1),
    Wrong("tool.result.select", command("result: {select: §{a: b}}")),
    Wrong("tool.result.select", command("result: {select: 'a[§'}"), "invalid-select"),
    Works("tool.result.text",
        tool(f"{PYTHON}\nresult: {{«text: 'it is {{{{ result.problem.text }}}}'»}}"),
        of_result("text"), "it is shop closed"),
    Wrong("tool.result.text", command("result: {text: §[a]}")),
    Wrong("tool.result.text", command("result: {text: '{{ §reslt }}'}"), "unknown-name"),
    Works("tool.result.max_size", command("result: {«max_size: 3B»}"),
        of_result("status"), "partial", "success"),
    Wrong("tool.result.max_size", command("result: {max_size: §50}"), "invalid-size"),
]  # fmt: skip


PARAMETERS = [
    Works("parameter.type", tool(f"{ECHO}\nparameters: {{a: {{«type: integer¦type: string»}}}}"),
        data(a=3), {"a": 3}),
    Wrong("parameter.type", command("parameters: {a: {type: §strng}}"), "unknown-type"),
    Wrong("parameter.type", command("parameters: {a: {type: [string, §nil]}}"), "unknown-type"),
    Wrong("parameter.type", command("parameters: {a: {type: §3}}"), "bad-schema"),
    Works("parameter.description", tool(f"{ECHO}\nparameters: {{a: {{«description: An a»}}}}"),
        shown("input_schema"), {
            "type": "object", "properties": {"a": {"description": "An a"}},
            "required": ["a"], "additionalProperties": False,
        }),
    Wrong("parameter.description", command("parameters: {a: {description: §[a]}}"), "bad-schema"),
    Works("parameter.default", tool(f"{ECHO}\nparameters: {{a: {{type: integer«, default: 7»}}}}"),
        data(), {"a": 7}),
    Works("parameter.default", tool(f"{ECHO}\nparameters: {{a: {{type: string, default: «1.10¦2»}}}}"),
        data(), {"a": "1.10"}),
    Wrong("parameter.default",
        command("parameters: {a: {type: integer, default: §many}}"), "bad-default"),
    Works("parameter.required",
        tool(f"{ECHO}\nparameters: {{a: {{type: string«, required: false»}}}}"), data(), {}),
    Wrong("parameter.required", command("parameters: {a: {required: §no}}")),
    Later("parameter.required", tool(
        f"{ECHO}\nparameters: {{a: {{default: x, §required: true}}}}"), "required: true", "no-effect"),
    Works("parameter.enum", tool(f"{ECHO}\nparameters: {{a: {{«enum: [x, y]»}}}}"),
        failure(a="z"), "invalid-arguments", "success"),
    Wrong("parameter.enum", command("parameters: {a: {enum: §x}}"), "bad-schema"),
    Wrong("parameter.enum", command("parameters: {a: {§enumm: [x]}}"), "unknown-keyword"),
    Works("parameter.from",
        tool(f"{ECHO}\nparameters: {{a: {{type: string«, from: caller.tenant»}}}}"),
        data(), {"a": "acme"}),
    Works("parameter.from",
        tool(f"{ECHO}\nparameters: {{a: {{type: string«, from: caller.claims.team»}}}}"),
        failure(a="mine"), "invalid-arguments", "success"),
    Wrong("parameter.from", command("parameters: {a: {from: §caller.tenan}}"), "unknown-source"),
    Wrong("parameter.from", command("parameters: {a: {from: §[a]}}"), "unknown-source"),
    Works("parameter.default_from",
        tool(f"{ECHO}\nparameters: {{a: {{type: string«, default_from: caller.session»}}}}"),
        data(), {"a": "s-1"}),
    Wrong("parameter.default_from",
        command("parameters: {a: {default_from: §tenant}}"), "unknown-source"),
    Wrong("parameter.default_from", command(
        "parameters: {a: {from: caller.tenant, §default_from: caller.session}}"), "no-effect"),
    Works("parameter.sensitive",
        tool(f"{ECHO}\nparameters: {{a: {{type: integer«, sensitive: true»}}}}"),
        failure("message", a="1234-5678"), "`a` must be an integer, not ***."),
    Wrong("parameter.sensitive", command("parameters: {a: {sensitive: §very}}")),
    Works("parameter.format", tool(f"{ECHO}\nparameters: {{a: {{type: string«, format: path»}}}}"),
        failure(a="../b"), "invalid-arguments", "success"),
    Works("parameter.format", tool(f"{ECHO}\nparameters: {{a: {{type: string«, format: date»}}}}"),
        failure(a="soon"), "invalid-arguments", "success"),
    Wrong("parameter.format", command("parameters: {a: {type: string, format: §[a]}}"), "bad-schema"),
    Works("parameter.root",
        command("parameters: {a: {type: string, format: path«, root: tools.d»}}", "[echo, '{{ a }}']"),
        data(a="t.yaml"), "./tools.d/t.yaml\n", "./t.yaml\n"),
    Wrong("parameter.root", command("parameters: {a: {type: string, format: path, root: §[a]}}")),
    Wrong("parameter.root", command("parameters: {a: {type: string, §root: .}}"), "no-effect"),
    Works("parameter.allow_dash", command(
        "parameters: {a: {type: string«, allow_dash: true»}}", '[printf, "%s", "{{ a }}"]'),
        data(a="-v"), "-v"),
    Wrong("parameter.allow_dash", command("parameters: {a: {allow_dash: §ok}}")),
]  # fmt: skip

LATER = [
    Wrong("tool.hitl.mode", command("hitl: {mode: §maybe}"), "invalid-value"),
    Wrong("tool.hitl.mode", command("§hitl: {ttl: 5m}"), "missing-key"),
    Wrong("tool.hitl.fields", command("hitl: {mode: none, fields: §a}")),
    Wrong("tool.hitl.ttl", command("hitl: {mode: none, ttl: §5}"), "invalid-duration"),
    Wrong("tool.hitl.note", command("hitl: {mode: none, note: §[a]}")),
    Wrong("tool.hitl.channels", command("hitl: {mode: none, §chanels: [mail]}"), "unknown-key"),
    Later("tool.timeout.connect", command("timeout: {§connect: 1s}"), "timeout.connect", "no-effect"),
    Later("tool.timeout.attempt", command("timeout: {§attempt: 9s, total: 5s}"), "timeout.total", "no-effect"),
    Later("tool.timeout.attempt", {
        PROJECT: "defaults: {timeout: {total: 5s}}\n",
        TOOLS: "tools: {t: {description: T., command: [echo], timeout: {§attempt: 9s}}}\n",
    }, "timeout.total", "no-effect"),
    Later("tool.retry.initial", command("retry: {§initial: 30s}"), "retry.max", "no-effect"),
    Later("tool.retry.rejected_means_not_applied",
        command("retry: {§rejected_means_not_applied: true}"), "retry.rejected_means_not_applied", "no-effect"),
    Later("parameter.allow_dash",
        tool(f"{ECHO}\nparameters: {{a: {{type: string, §allow_dash: true}}}}"), "allow_dash", "no-effect"),
    Works("tool.agent agent.python agent.input",
        file("""
            tools:
              t:
                description: T.
                agent: {python: "kit:agent", input: {request: "«{{ request }}¦other»"}}
            """), data(request="a"), "done: a", "done: other"),
    Works("agent.http", file("""
        tools:
          t:
            description: T.
            agent: {http: {url: $URL/echo, allow_private: true, method: «PUT¦POST»}}
        """), data("method", request="a"), "PUT", "POST"),
    Wrong("tool.agent", tool("agent: §[a]")),
    Wrong("tool.agent", tool("agent: §{python: 'kit:where', http: https://example.com/}"), "one-of"),
    Wrong("agent.python", tool("agent: {python: §[a]}")),
    Wrong("agent.http", tool("agent: {http: {§uri: a}}"), "unknown-key"),
    Wrong("agent.input", tool("agent: {python: 'kit:agent', input: §hello}"), "wrong-type"),
    Works("tool.provider provider.vendor provider.type",
        file("tools: {t: {provider: {vendor: «anthropic¦google», type: web_search_20250305}}}"),
        requested(), [{"type": "web_search_20250305", "name": "web_search"}], []),
    Works("provider.config",
        file("tools: {t: {provider: {vendor: anthropic, type: a, «config: {max_uses: 3}»}}}"),
        requested(), [{"type": "a", "name": "a", "max_uses": 3}], [{"type": "a", "name": "a"}]),
    Wrong("tool.provider", tool("provider: §openai")),
    Wrong("provider.vendor", tool("§provider: {type: web_search}"), "missing-key"),
    Wrong("provider.vendor", tool("provider: {vendor: §a, type: b}"), "invalid-value"),
    Wrong("provider.type", tool("provider: {vendor: google, type: §[a]}")),
    Wrong("provider.config", tool("provider: {vendor: google, type: b, config: §c}")),
    Wrong("tool.idempotency_key", command("idempotency_key: §[a]")),
    Wrong("tool.idempotency_key.value", command("§idempotency_key: {header: K}"), "missing-key"),
    Wrong("tool.idempotency_key.header", command("idempotency_key: {value: a, header: §[a]}")),
    Works("tool.hooks tool.hooks.before",
        tool(f"{ECHO}\n«hooks: {{before: ['kit:marked']}}»"), data("mark"), "t", None),
    Works("tool.hooks.after", command("hooks: {«after: ['kit:loud']»}"), data(), "HELLO", "hello"),
    Wrong("tool.hooks", command("hooks: §[a]")),
    Wrong("tool.hooks.before", command("hooks: {before: §kit:where}")),
    Wrong("tool.hooks.before", command("hooks: {before: [§'kit:markd']}"), "import-failed"),
    Wrong("tool.hooks.after", command("hooks: {after: [§'kit:pid']}"), "signature-drift"),
    Wrong("tool.hooks.after", command("hooks: {after: [§[a]]}")),
    Wrong("tool.breaker", command("breaker: §3")),
    Wrong("tool.breaker.failures", command("breaker: {failures: §0}"), "out-of-range"),
    Wrong("tool.breaker.recovery", command("breaker: {recovery: §5}"), "invalid-duration"),
    Wrong("tool.breaker.ratio", command("breaker: {ratio: §2}"), "out-of-range"),
    Wrong("tool.breaker.window", command("breaker: {window: §long}"), "invalid-duration"),
    Wrong("tool.breaker.hide", command("breaker: {hide: §maybe}")),
    Wrong("tool.rate", command("rate: §60")),
    Wrong("tool.rate", command("rate: §60/minute"), "invalid-duration"),
    Wrong("tool.rate.limit", command("rate: {limit: §0, per: 1m}"), "out-of-range"),
    Wrong("tool.rate.per", command("§rate: {limit: 1}"), "missing-key"),
    Wrong("tool.rate.by", command("rate: {limit: 1, per: 1m, by: §day}"), "invalid-value"),
    Wrong("tool.concurrency", command("concurrency: §0"), "invalid-concurrency"),
    Wrong("tool.concurrency", command("concurrency: §parallel"), "invalid-concurrency"),
    Wrong("tool.cache", command("cache: §5"), "invalid-duration"),
    Wrong("tool.cache.ttl", command("§cache: {scope: tenant}"), "missing-key"),
    Wrong("tool.cache.scope", command("cache: {ttl: 5m, scope: §all}"), "invalid-value"),
    Wrong("tool.cache.max_entries", command("cache: {ttl: 5m, max_entries: §few}")),
    Wrong("tool.verify", command("verify: §u")),
    Wrong("tool.verify.tool", command("verify: {tool: §[u], applied_when: a}")),
    Wrong("tool.verify.args", command("verify: {tool: u, args: §3, applied_when: a}")),
    Wrong("tool.verify.applied_when", command("§verify: {tool: u}"), "missing-key"),
    Wrong("tool.fallback", command("fallback: §[a]")),
    Wrong("tool.fallback.tool", command("fallback: {tool: §[a]}")),
    Wrong("tool.fallback.value", command("fallback: §{tool: u, value: 3}"), "one-of"),
    Wrong("tool.fallback.stale", command("fallback: {stale: §old}")),
    Wrong("tool.poll", command("poll: §u")),
    Wrong("tool.poll.tool", command("§poll: {every: 1s, until: a}"), "missing-key"),
    Wrong("tool.poll.args", command("poll: {tool: u, args: §a, every: 1s, until: a}")),
    Wrong("tool.poll.every", command("poll: {tool: u, every: §often, until: a}"), "invalid-duration"),
    Wrong("tool.poll.until", command("poll: {tool: u, every: 1s, until: §[a]}")),
    Wrong("tool.freshness", command("freshness: §path")),
    Wrong("tool.freshness.resource", command("freshness: {resource: §[a], read_by: [u]}")),
    Wrong("tool.freshness.read_by", command("freshness: {resource: a, read_by: §u}")),
    Works("tool.result.empty", command("result: {«empty: Nothing.»}", "[printf, '']"),
        of_result("text"), "Nothing.", "t completed with no output."),
    Wrong("tool.result.empty", command("result: {empty: §[a]}")),
    Works("tool.result.keep", command("result: {max_size: 2B, «keep: tail»}"),
        of_result("text"), "… 3 bytes before this were cut off\nlo",
        "he\n… 3 more bytes were cut off"),
    Wrong("tool.result.keep", command("result: {keep: §middle}"), "invalid-value"),
    Works("tool.result.redact", tool(f"{PYTHON}\nresult: {{«redact: [problem.text]»}}"),
        data("problem.text"), "***", "shop closed"),
    Wrong("tool.result.redact", command("result: {redact: [§'(a+)\\1']}"), "bad-pattern"),
    Wrong("tool.result.redact", command("result: {redact: §card}")),
    Works("tool.result.to", command("result: {«to: user»}"),
        of_result("text"), "t: the answer was shown to the user; it is not for you", "hello"),
    Wrong("tool.result.to", command("result: {to: §all}"), "invalid-value"),
    Works("tool.result.final", command("result: {«final: true»}"), of_result("final"), True, False),
    Wrong("tool.result.final", command("result: {final: §yes}")),
]  # fmt: skip

API = {"api.json": '{"openapi": "3.0.0", "paths": {"/x": {"get": {"operationId": "look"}}}}'}

SOURCES = [
    Works("file.sources", file("«sources: {a: {python: 'kit:corner'}}¦tools: {}»"),
        names(), ["a.sign"], []),
    Works("file.sources.include", file("sources: {a: {python: kit, «include: ['e*']¦include: [add]»}}"),
        names(), ["a.echo"], ["a.add"]),
    Works("file.sources.exclude", file("sources: {a: {python: 'kit:corner', «exclude: [sign]»}}"),
        names(), [], ["a.sign"]),
    Works("file.sources.prefix", file("sources: {a: {python: 'kit:corner', «prefix: the_»}}"),
        names(), ["a.the_sign"], ["a.sign"]),
    Works("file.sources.overrides", file("""
        sources: {a: {python: 'kit:corner', «overrides: {sign: {enabled: false}}»}}
        """), names(), [], ["a.sign"]),
    Works("file.sources.openapi file.sources.openapi.spec",
        file("«sources: {a: {openapi: api.json}}¦tools: {}»") | API, names(), ["a.look"], []),
    Works("file.sources.openapi.base_url",
        file("sources: {a: {openapi: {spec: api.json, «base_url: 'https://b.example'»}}}") | API,
        address("a.look"), "https://b.example", "https://unknown.invalid"),
    Works("file.sources.openapi.target", file("""
        targets: {t: {url: "https://t.example"}}
        sources: {a: {openapi: {spec: api.json, «target: t»}}}
        """) | API, address("a.look"), "https://t.example", "https://unknown.invalid"),
    Works("file.sources.python file.sources.python.object",
        file("sources: {a: {python: 'kit:«corner¦add»'}}"), names(), ["a.sign"], ["a.add"]),
    Works("file.sources.python.init",
        file("sources: {a: {python: {object: 'kit:Shop', «init: {name: big}»}}}"),
        sign, "big", "corner"),
    Works("file.sources.python.select",
        file("sources: {a: {python: {object: 'kit:corner', select: «public¦decorated»}}}"),
        names(), ["a.sign"], refused="no-tools"),
    Wrong("file.sources", file("sources: §[a]")),
    Wrong("file.sources", file("sources: {a: §{include: [b]}}"), "one-of"),
    Wrong("file.sources", file("sources: {a: §{python: 'kit:Shop', openapi: ./a.json}}"), "one-of"),
    Wrong("file.sources.openapi", file("sources: {a: {openapi: §[a]}}")),
    Wrong("file.sources.openapi.spec", file("sources: {a: {§openapi: {target: b}}}"), "missing-key"),
    Wrong("file.sources.openapi.target", file("sources: {a: {openapi: {spec: a, target: §[b]}}}")),
    Wrong("file.sources.openapi.base_url",
        file("sources: {a: {openapi: §{spec: a, target: b, base_url: c}}}"), "one-of"),
    Wrong("file.sources.python", file("sources: {a: {python: §[a]}}")),
    Wrong("file.sources.python.object", file("sources: {a: {§python: {init: {}}}}"), "missing-key"),
    Wrong("file.sources.python.init", file("sources: {a: {python: {object: 'a:b', init: §3}}}")),
    Wrong("file.sources.python.select",
        file("sources: {a: {python: {object: 'a:b', select: §all}}}"), "invalid-value"),
    Wrong("file.sources.include", file("sources: {a: {python: 'a:b', include: §b}}")),
    Wrong("file.sources.exclude", file("sources: {a: {python: 'a:b', exclude: §b}}")),
    Wrong("file.sources.prefix", file("sources: {a: {python: 'a:b', prefix: §[b]}}")),
    Wrong("file.sources.overrides", file("sources: {a: {python: 'a:b', overrides: §3}}")),
    Wrong("file.sources.overrides",
        file("sources: {a: {python: 'a:b', overrides: {c: {§timeuot: 3s}}}}"), "unknown-key"),
    Wrong("file.sources.on_change",
        file("sources: {a: {mcp: {url: a}, on_change: §stop}}"), "invalid-value"),
    Wrong("file.sources.on_change", file("sources: {a: {python: 'a:b', on_change: §warn}}"), "no-effect"),
    Wrong("file.sources.on_failure", file("sources: {a: {python: 'a:b', on_failure: §fail}}"), "no-effect"),
    Wrong("file.sources.on_failure",
        file("sources: {a: {mcp: {url: a}, on_failure: §stop}}"), "invalid-value"),
]  # fmt: skip

CASES = [*FILE, *TOOL, *LIMITS, *RESULT, *PARAMETERS, *LATER, *SOURCES]
