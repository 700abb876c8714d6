"""Cases about the options of the kinds, and about targets."""

import os

from manifest.key_case import (
    Later,
    Works,
    Wrong,
    data,
    failure,
    file,
    http,
    of_result,
    target,
    tool,
)

A = "parameters: {a: string}"
AB = "parameters: {a: string, b: integer}"

HTTP = [
    Works("http.url", http("url: $URL/«one¦two»"), data("target"), "/one"),
    Works("http.url", tool("http: $URL/«one¦two»"), data("target"), "/one"),
    Wrong("http.url", http("url: §[a]")),
    Wrong("http.url", http("url: 'https://§{{ a }}/x'", A), "value-in-host"),
    Wrong("http.url", http("url: 'https://example.com/{{ §b }}'", A), "unknown-name"),
    Wrong("http.url", tool("§http: {method: GET}"), "missing-key"),
    Works("http.method", http("«method: DELETE»"), data("method"), "DELETE", "GET"),
    Wrong("http.method", http("method: §FETCH"), "invalid-value"),
    Wrong("http.method", http("§json: {a: 1}"), "missing-key"),
    Works("http.target", file("""
        targets: {one: {url: $URL/one}, two: {url: $URL/two}}
        tools:
          t: {description: T., http: {target: «one¦two», url: /echo}}
        """), data("target"), "/one/echo"),
    Wrong("http.target", http("target: §nowhere"), "unknown-target"),
    Wrong("http.target", http("target: §[a]")),
    Works("http.headers", http("«headers: {X-Key: '{{ a }}'}»", A), data("headers.x-key", a="k"), "k"),
    Wrong("http.headers", http("headers: §[a]")),
    Wrong("http.headers", http("headers: {§Host: a}"), "reserved-header"),
    Wrong("http.headers", http("headers: {§'a b': a}"), "invalid-header"),
    Wrong("http.headers", http("headers: {X-Key: '{{ §b }}'}"), "unknown-name"),
    Works("http.query", http("query: {x: 1«, y: '{{ b }}'»}", "parameters: {b: integer}"),
        data("target", b=2), "/echo?x=1&y=2", "/echo?x=1"),
    Wrong("http.query", http("query: §a=b")),
    Wrong("http.query", http("query: {a: '{{ §b }}'}"), "unknown-name"),
    Works("http.json", http("method: POST\n«json: {x: '{{ b }}'}»", "parameters: {b: integer}"),
        data("body", b=2), '{"x":2}', ""),
    Wrong("http.json", http("method: POST\njson: {a: '{{ §b }}'}"), "unknown-name"),
    Wrong("http.json", http("method: POST\njson: {}\n§form: {}"), "one-body"),
    Works("http.form", http("method: POST\n«form: {x: {y: '{{ a }}'}}»", A),
        data("body", a="1&2"), "x%5By%5D=1%262", ""),
    Wrong("http.form", http("method: POST\nform: §a=b")),
    Works("http.body http.body.type http.body.text",
        http("method: POST\n«body: {type: text/xml, text: '<a>{{ a }}</a>'}»", A),
        data("body", a="<"), "<a>&lt;</a>", ""),
    Works("http.body.type", http("method: POST\nbody: {type: «text/plain¦text/html», text: x}"),
        data("headers.content-type"), "text/plain"),
    Wrong("http.body", http("method: POST\nbody: §text")),
    Wrong("http.body.type", http("method: POST\n§body: {text: a}"), "missing-key"),
    Wrong("http.body.text", http("method: POST\nbody: {type: text/plain, text: §[a]}")),
    Works("http.args_in", http("«args_in: query»", AB), data("target", a="x", b=2),
        "/echo?a=x&b=2", "/echo"),
    Works("http.args_in", http("method: POST\n«args_in: json»", AB), data("body", a="x", b=2),
        '{"a":"x","b":2}', ""),
    Works("http.args_in", http("method: POST\n«args_in: form»", AB), data("body", a="x", b=2),
        "a=x&b=2", ""),
    Wrong("http.args_in", http("args_in: §path"), "invalid-value"),
    Works("http.success", http("url: $URL/missing\n«success: [404]»"), data(), {"none": True}),
    Works("http.success", http("«success: [404]»"), failure(), "execution-failed", "success"),
    Wrong("http.success", http("success: §200")),
    Wrong("http.success", http("success: [§20]"), "out-of-range"),
    Wrong("http.success", http("success: §[]"), "out-of-range"),
    Wrong("http.success", http("success: [§ok]")),
    Works("http.output", http("url: $URL/list\n«output: text»"), data(), '{"rows": [1, 2, 3]}',
        {"rows": [1, 2, 3]}),
    Works("http.output", http("url: $URL/text\n«output: lines»"), data(), ["[1, 2]", "[3]"],
        "[1, 2]\n[3]\n"),
    Works("http.output", http("url: $URL/text\n«output: jsonl»"), data(), [[1, 2], [3]],
        "[1, 2]\n[3]\n"),
    Works("http.output", http("url: $URL/list\n«output: bytes»"), data("media_type"), "application/json"),
    Works("http.output", http("url: $URL/text\n«output: json»"), failure(), "bad-response", "success"),
    Wrong("http.output", http("output: §yaml"), "invalid-value"),
    Later("http.output", http("output: §csv"), "output: csv"),
    Later("http.args_in", http("method: POST\nargs_in: §multipart"), "args_in: multipart"),
    Works("http.allow_private", http("url: $URL/far\nredirects: true\n«allow_private: true»"),
        failure("message"), "the service could not be reached: connection refused", held=True),
    Works("http.allow_private", http("url: $URL/far\nredirects: true\n«allow_private: [127.0.0.2]»"),
        failure("message"), "the service could not be reached: connection refused", held=True),
    Wrong("http.allow_private", http("allow_private: §some")),
    Wrong("http.allow_private", http("allow_private: [§inner]"), "invalid-value"),
    Works("http.redirects", http("url: $URL/moved\n«redirects: true»"), data("target"), "/echo"),
    Wrong("http.redirects", http("redirects: §all")),
    Later("http.multipart", http("method: POST\n§multipart: {file: a}"), "http.multipart"),
    Wrong("http.multipart", http("method: POST\nmultipart: §a")),
    Later("http.graphql http.graphql.query http.graphql.variables",
        http("method: POST\n§graphql: {query: '{ a }', variables: {b: 1}}"), "http.graphql"),
    Wrong("http.graphql", http("method: POST\ngraphql: §a")),
    Wrong("http.graphql.query", http("method: POST\n§graphql: {variables: {}}"), "missing-key"),
    Wrong("http.graphql.variables", http("method: POST\ngraphql: {query: a, variables: §b}")),
    Later("http.paginate http.paginate.next http.paginate.param http.paginate.in "
        "http.paginate.items http.paginate.more http.paginate.pages", http(
        "§paginate: {next: page.next, param: cursor, in: query, items: rows, more: page.more, pages: 5}"),
        "http.paginate"),
    Wrong("http.paginate", http("paginate: §link")),
    Wrong("http.paginate.next", http("paginate: {next: §[a]}")),
    Wrong("http.paginate.param", http("paginate: {param: §[a]}")),
    Wrong("http.paginate.in", http("paginate: {in: §path}"), "invalid-value"),
    Wrong("http.paginate.items", http("paginate: {items: §[a]}")),
    Wrong("http.paginate.more", http("paginate: {more: §[a]}")),
    Wrong("http.paginate.pages", http("paginate: {pages: §0}"), "out-of-range"),
    Wrong("http.url", http("§mthod: GET"), "unknown-key"),
]  # fmt: skip

_LATER_AUTH = (
    "{token_url: https://example.com/, client_id: a, client_secret: b, scopes: [c], audience: d}"
)

TARGETS = [
    Works("target.url", target("url: $URL/«one¦two»"), data("target"), "/one/echo"),
    Wrong("target.url", target("url: §[a]")),
    Wrong("target.url", target("url: §/path"), "invalid-url"),
    Wrong("target.url", file("targets: {§api: {redirects: true}}"), "missing-key"),
    Works("target.headers", target("«headers: {X-Key: k}»"), data("headers.x-key"), "k"),
    Wrong("target.headers", target("headers: §[a]")),
    Wrong("target.headers", target("headers: {X-Key: '{{ §a }}'}"), "unknown-name"),
    Works("target.auth target.auth.bearer", target("«auth: {bearer: '${env:TOKEN}'}»"),
        data("headers.authorization"), "Bearer ***"),
    Wrong("target.auth", target("auth: §secret")),
    Wrong("target.auth", target("auth: §{bearer: a, basic: {username: b, password: c}}"), "one-of"),
    Wrong("target.auth", target("auth: {§beaer: a}"), "unknown-key"),
    Wrong("target.auth.bearer", target("auth: {bearer: §[a]}")),
    Wrong("target.auth.bearer", target("auth: {bearer: '§${TOKEN}'}"), "bad-reference"),
    Works("target.auth.basic target.auth.basic.username target.auth.basic.password",
        target("«auth: {basic: {username: ada, password: lovelace}}»"),
        data("headers.authorization"), "Basic YWRhOmxvdmVsYWNl", warned=["constant-credential"]),
    Wrong("target.auth.basic", target("auth: {basic: §ada}")),
    Wrong("target.auth.basic.username", target("auth: {§basic: {password: a}}"), "missing-key"),
    Wrong("target.auth.basic.password", target("auth: {basic: {username: a, password: §[b]}}")),
    Works("target.auth.api_key target.auth.api_key.header target.auth.api_key.value",
        target("«auth: {api_key: {header: X-Key, value: k}}»"), data("headers.x-key"), "k",
        warned=["constant-credential"]),
    Works("target.auth.api_key.query", target("«auth: {api_key: {query: key, value: k}}»"),
        data("target"), "/echo?key=k", "/echo", warned=["constant-credential"]),
    Works("target.auth.api_key.cookie", target("«auth: {api_key: {cookie: key, value: k}}»"),
        data("headers.cookie"), "key=k", warned=["constant-credential"]),
    Wrong("target.auth.api_key", target("auth: {api_key: §k}")),
    Wrong("target.auth.api_key", target("auth: {api_key: §{header: a, query: b, value: c}}"), "one-of"),
    Wrong("target.auth.api_key.header", target("auth: {api_key: {header: §'a b', value: '${env:TOKEN}'}}"),
        "invalid-header"),
    Wrong("target.auth.api_key.query", target("auth: {api_key: {query: §[a], value: c}}")),
    Wrong("target.auth.api_key.cookie", target("auth: {api_key: {cookie: §[a], value: c}}")),
    Wrong("target.auth.api_key.value", target("auth: {§api_key: {header: a}}"), "missing-key"),
    Later("target.auth.oauth2 target.auth.oauth2.token_url target.auth.oauth2.client_id "
        "target.auth.oauth2.client_secret target.auth.oauth2.scopes target.auth.oauth2.audience",
        target(f"auth: {{§oauth2: {_LATER_AUTH}}}"), "targets.api.auth.oauth2"),
    Wrong("target.auth.oauth2", target("auth: {oauth2: §a}")),
    Wrong("target.auth.oauth2.token_url",
        target("auth: {§oauth2: {client_id: b, client_secret: c}}"), "missing-key"),
    Wrong("target.auth.oauth2.client_id",
        target("auth: {oauth2: {token_url: a, client_id: §[b], client_secret: c}}")),
    Wrong("target.auth.oauth2.client_secret",
        target("auth: {oauth2: {token_url: a, client_id: b, client_secret: §[c]}}")),
    Wrong("target.auth.oauth2.scopes",
        target("auth: {oauth2: {token_url: a, client_id: b, client_secret: c, scopes: §d}}")),
    Wrong("target.auth.oauth2.audience",
        target("auth: {oauth2: {token_url: a, client_id: b, client_secret: c, audience: §[d]}}")),
    Later("target.auth.python", target("auth: {§python: 'kit:where'}"), "targets.api.auth.python"),
    Wrong("target.auth.python", target("auth: {python: §[a]}")),
    Works("target.allow_private", target("«allow_private: true»\nredirects: true",
        "{target: api, url: /far}"), failure("message"), "the service could not be reached: connection refused", held=True),
    Wrong("target.allow_private", target("allow_private: §some")),
    Wrong("target.allow_private", target("allow_private: [§inner]"), "invalid-value"),
    Works("target.redirects", target("«redirects: true»", "{target: api, url: /moved}"),
        data("target"), "/echo"),
    Wrong("target.redirects", target("redirects: §all")),
    Works("target.tls target.tls.ca", target("tls: {«ca: loopback.pem, »cert: loopback.pem, key: loopback.pem}"),
        data("target"), "/echo", held=True, secure=True),
    Works("target.tls.cert target.tls.key",
        target("tls: {ca: loopback.pem«, cert: loopback.pem, key: loopback.pem»}"),
        data("target"), "/echo", held=True, secure=True),
    Wrong("target.tls", target("tls: §true")),
    Wrong("target.tls", target("tls: §{cert: loopback.pem}"), "invalid-value"),
    Wrong("target.tls.ca", target("tls: {ca: §no.pem}"), "file-not-found"),
    Wrong("target.tls.cert", target("tls: {cert: §[a], key: loopback.pem}")),
    Wrong("target.tls.key", target("tls: {cert: loopback.pem, key: §no.pem}"), "file-not-found"),
    Works("target.timeout", target("url: $TLS\n«timeout: 60ms»") | {"toolrt.yaml":
        "defaults: {timeout: {attempt: 300ms}, retry: none}\n"},
        failure("message"), "no connection to the service in time", "no answer within 0.3 s"),
    Wrong("target.timeout", target("timeout: §5"), "invalid-duration"),
    Wrong("target.url", target("§hedaers: {}"), "unknown-key"),
    Wrong("file.targets", file("targets: {api: §https://example.com}")),
]  # fmt: skip


def executed(script: str, options: str = "", keys: str = "") -> dict[str, dict[str, str]]:
    """The same constant script as a tool of either kind, with the same options."""

    def made(first: str) -> dict[str, str]:
        return "\n".join(f"  {line}" for line in (first, *options.splitlines()))

    return {
        "command": tool(f"command:\n{made(f'argv: [bash, -c, {script!r}]')}\n{keys}"),
        "shell": tool(f"shell:\n{made(f'script: {script!r}')}\n{keys}"),
    }  # fmt: skip


def works(key: str, files: dict[str, dict[str, str]], *more, **others) -> list[Works]:
    return [Works(f"{kind}.{key}", each, *more, **others) for kind, each in files.items()]


def wrong(key: str, options: str, *code: str) -> list[Wrong]:
    files = executed("echo", options)
    return [Wrong(f"{kind}.{key}", each, *code) for kind, each in files.items()]


def limited(key: str, option: str, seen: object) -> Works:
    """A limit, as the child sees it; it is set right after the child began."""
    script, limit = f"sleep 0.1; ulimit -{option}", f"limits: {{«{key}»}}"
    files = executed(script, limit)["command"]
    return Works(f"command.limits.{key.partition(':')[0]}", files, data(), f"{seen}\n")


EXECUTION = [
    Works("command.argv", tool(f"""
        {A}
        command: {{argv: [printf, "%s-", «x¦y», {{-a: "{{{{ a }}}}"}}]}}
        """), data(a="z"), "x--a-z-"),
    Wrong("command.argv", tool("command: {argv: §df}"), "not-a-list"),
    Wrong("command.argv", tool("command: §[]"), "out-of-range"),
    Wrong("command.argv", tool("command: [§'{{ a }}']"), "program-not-constant"),
    Wrong("command.argv", tool("command: [echo, '{{ §a }}']"), "unknown-name"),
    Wrong("command.argv", tool("command: [echo, §[a]]")),
    Wrong("command.argv", tool("command: [echo, §'${env:TOKEN}']"), "reference-in-argv"),
    Wrong("command.argv", tool("§command: {stdin: a}"), "missing-key"),
    Works("shell.script", tool("shell: {script: echo «one¦two»}"), data(), "one\n"),
    Wrong("shell.script", tool("shell: {script: §[a]}")),
    Wrong("shell.script", tool("shell: 'echo §{{ a }}'"), "template-in-script"),
    Wrong("shell.script", tool("shell: §''"), "out-of-range"),
    Works("shell.argv", tool(f"""
        {A}
        shell: {{script: 'echo "$1-$#"', argv: [«"{{{{ a }}}}", »x]}}
        """), data(a="z"), "z-2\n", "x-1\n"),
    Wrong("shell.argv", tool("shell: {script: a, argv: §b}")),
    Wrong("shell.argv", tool("shell: {script: a, argv: ['{{ §b }}']}"), "unknown-name"),
    Works("shell.interpreter", tool("shell: {script: 'false; echo on', «interpreter: [bash]»}"),
        data(), "on\n"),
    Wrong("shell.interpreter", tool("shell: {script: a, interpreter: §bash}")),
    Wrong("shell.interpreter", tool("shell: {script: a, interpreter: §[]}"), "out-of-range"),
    Wrong("shell.interpreter",
        tool("shell: {script: a, interpreter: [§'{{ b }}']}"), "program-not-constant"),
    *works("stdin", executed("cat", "«stdin: '{{ a }}!'»", A), data(a="x"), "x!"),
    *works("stdin", executed("cat", "«stdin: {x: '{{ a }}'}»", A), data(a="x"), '{"x":"x"}'),
    *wrong("stdin", "stdin: '{{ §b }}'", "unknown-name"),
    *works("cwd", executed('basename "$PWD"', "«cwd: tools.d»"), data(), "tools.d\n"),
    *wrong("cwd", "cwd: §[a]"),
    *wrong("cwd", "cwd: §/etc", "invalid-folder"),
    *works("env", executed("printenv DEPTH || true", "«env: {DEPTH: '{{ a }}'}»", A), data(a="x"), "x\n", ""),
    *wrong("env", "env: §[a]"),
    *wrong("env", "env: {§'a b': c}", "bad-name"),
    *wrong("env", "env: {A: §[a]}"),
    *wrong("env", "env: {A: '{{ §b }}'}", "unknown-name"),
    *works("success", executed("exit 3", "«success: [0, 3]»"), failure(), "success", "execution-failed"),
    *wrong("success", "success: §3"),
    *wrong("success", "success: [§ok]"),
    *wrong("success", "success: [§'0']"),
    *wrong("success", "success: [§true]"),
    *wrong("success", "success: [§256]", "out-of-range"),
    *works("output", executed("echo 1; echo 2", "«output: lines»"), data(), ["1", "2"], "1\n2\n"),
    *works("output", executed("echo 1; echo 2", "«output: jsonl»"), data(), [1, 2], "1\n2\n"),
    *works("output", executed("echo [1]", "«output: json»"), data(), [1], "[1]\n"),
    *wrong("output", "output: §xml", "invalid-value"),
    *(
        Later(f"{kind}.output", files, "output: csv")
        for kind, files in executed("echo", "output: §csv").items()
    ),
    *works("limits", executed("printf hello", "«limits: {output: 3B}»"),
        of_result("status"), "partial", "success"),
    *wrong("limits", "limits: §3"),
    *wrong("limits", "limits: {§mem: 1GB}", "unknown-key"),
    *(
        Later(f"{kind}.sandbox", files, "sandbox", "unsupported", "error")
        for kind, files in executed("echo", "§sandbox: {network: false, write: [a]}").items()
    ),
    *(
        Wrong(f"{kind}.sandbox", files, "unsupported")
        for kind, files in executed("echo", "§sandbox: all").items()
    ),
    limited("cpu: 7s", "t", 7),
    *wrong("limits.cpu", "limits: {cpu: §7}", "invalid-duration")[:1],
    limited("memory: 2GiB", "v", 2 * 1024 * 1024),
    *wrong("limits.memory", "limits: {memory: §much}", "invalid-size")[:1],
    limited("file_size: 10KiB", "f", 10),
    *wrong("limits.file_size", "limits: {file_size: §1}", "invalid-size")[:1],
    limited("processes: 4321", "u", 4321),
    *wrong("limits.processes", "limits: {processes: §'4'}")[:1],
    limited("open_files: 77", "n", 77),
    *wrong("limits.open_files", "limits: {open_files: §1}", "out-of-range")[:1],
    Works("command.limits.output", executed("printf hello", "limits: {«output: 3B»}")["command"],
        of_result("status"), "partial", "success"),
    *wrong("limits.output", "limits: {output: §5}", "invalid-size")[:1],
    *wrong("output", "§outptu: json", "unknown-key"),
]  # fmt: skip

PYTHON = [
    Works("python.call", tool("python: {call: kit:«where¦pid»}"), data(), "another"),
    Works("python.call", tool("python: kit:«where¦pid»"), data(), "another"),
    Wrong("python.call", tool("python: {call: §[a]}"), "not-a-name"),
    Wrong("python.call", tool("python: §kit.where"), "not-a-name"),
    Wrong("python.call", tool("python: §kit:wher"), "import-failed"),
    Wrong("python.call", tool("python: §{init: {a: 1}}"), "no-callable"),
    Works("python.object", tool("python: {object: kit:«corner¦market», call: sign}"),
        data(), "corner"),
    Works("python.object", tool("python: {«object: kit:Shop, call: sign¦call: kit:where»}"),
        data(), "corner"),
    Wrong("python.object", tool("python: {object: §[a], call: sign}")),
    Wrong("python.object", tool("python: {object: §kit:Shopp, call: sign}"), "import-failed"),
    Wrong("python.object", tool("python: {object: kit:Shop, call: §sing}"), "import-failed"),
    Works("python.init", tool("python: {object: kit:Shop, call: sign, «init: {name: big}»}"),
        data(), "big", "corner"),
    Wrong("python.init", tool("python: {object: kit:Shop, call: sign, init: §a}")),
    Wrong("python.init",
        tool("python: {object: kit:Shop, call: sign, init: §{nam: big}}"), "signature-drift"),
    Wrong("python.init", tool("python: {call: kit:where, §init: {a: 1}}"), "signature-drift"),
    Works("python.run_in", tool("python: {call: kit:where, «run_in: inline»}"), data(), "main", "another"),
    Works("python.run_in", tool("python: {call: kit:pid, run_in: «thread¦process»}"),
        data(), os.getpid()),
    Wrong("python.run_in", tool("python: {call: kit:where, run_in: §fiber}"), "invalid-value"),
    Wrong("python.run_in", tool("python: {call: kit:where, §runin: thread}"), "unknown-key"),
]  # fmt: skip

CASES = [*HTTP, *TARGETS, *EXECUTION, *PYTHON]
