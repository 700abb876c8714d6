import base64
import contextlib
import json
from urllib.parse import unquote_plus

import pytest
from pydantic import ValidationError

from tests.http_tool import HttpTool, optional
from tests.loopback import RESET, json_reply, loopback, refused_port, reply
from toolrt.bindings.http import KIND
from toolrt.core.calls import Caller
from toolrt.core.errors import BindingError, CallError, RefusedError
from toolrt.core.redaction import Secret
from toolrt.manifest.longform import long_http

pytestmark = pytest.mark.anyio


async def heard(options, parameters=None, arguments=None, **more):
    """What the server hears of one call; a `url` or target that begins with / is on it."""
    async with loopback(json_reply("{}")) as server:
        options, more = _placed(options, more, server.url)
        tool = HttpTool(options, parameters, **more)
        await tool.call(**(arguments or {}))
        return server.heard[-1]


def _placed(options, more, url):
    if "target" not in options:
        options = {**options, "url": f"{url}{options['url']}"}
    for name, target in more.get("targets", {}).items():
        more["targets"] = {**more["targets"], name: {**target, "url": f"{url}{target['url']}"}}
    return options, more


async def failure(tool, **arguments):
    with pytest.raises(CallError) as failed:
        await tool.call(**arguments)
    return failed.value


# url


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("Tokyo", "/f/Tokyo/x"),
        ("../../admin", "/f/..%2F..%2Fadmin/x"),
        ("a/../b", "/f/a%2F..%2Fb/x"),
        ("%2e%2e%2f", "/f/%252e%252e%252f/x"),
        ("a?admin=1", "/f/a%3Fadmin%3D1/x"),
        ("a#b", "/f/a%23b/x"),
        ("//evil.com/x", "/f/%2F%2Fevil.com%2Fx/x"),
        ("a b", "/f/a%20b/x"),
        ("東京", "/f/%E6%9D%B1%E4%BA%AC/x"),
        ("{{ caller }}", "/f/%7B%7B%20caller%20%7D%7D/x"),
        ("${env:HOME}", "/f/%24%7Benv%3AHOME%7D/x"),
        ("a\r\nX: y", "/f/a%0D%0AX%3A%20y/x"),
    ],
)
async def test_h4_path_value_is_one_segment(value, sent):
    got = await heard({"url": "/f/{{ city }}/x"}, {"city": "string"}, {"city": value})
    assert got.target == sent


@pytest.mark.parametrize("value", [".", "..", ""])
async def test_h4_a_value_that_is_no_segment_is_refused(value):
    tool = HttpTool("http://127.0.0.1/f/{{ city }}/x", {"city": "string"})
    error = await failure(tool, city=value)
    assert (error.code, isinstance(error, RefusedError)) == ("invalid-arguments", True)
    assert "city" in error.message


async def test_h4_many_segments_are_asked_for_by_name():
    got = await heard({"url": "/f/{{ path | segments }}"}, {"path": "string"}, {"path": "a b/c"})
    assert got.target == "/f/a%20b/c"


async def test_h4_values_cannot_join_to_a_step_up():
    tool = HttpTool("http://127.0.0.1/f/{{ a ~ b }}/x", {"a": "string", "b": "string"})
    assert (await failure(tool, a=".", b=".")).code == "invalid-arguments"


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://{{ host }}/x", "value-in-host"),
        ("https://api.{{ host }}.com/x", "value-in-host"),
        ("https://api.example.com:{{ host }}/x", "value-in-host"),
        ("{{ host }}://api.example.com/", "value-in-host"),
        ("{{ host }}/x", "value-in-host"),
        ("https://${env:HOST}/x", "value-in-host"),
        ("https://user:word@api.example.com/", "invalid-url"),
        ("ftp://api.example.com/", "invalid-url"),
        ("//api.example.com/", "invalid-url"),
        ("api.example.com/x", "invalid-url"),
        ("", "invalid-url"),
        ("https://api.example.com/a b", "invalid-url"),
        ("https://api.example.com/ä", "invalid-url"),
        ("https://api.example.com/a\\b", "invalid-url"),
        ("https://api.example.com/#x", "invalid-url"),
        ("https://api.example.com/{host}", "invalid-url"),
        ("https://api.example.com/a/../{{ host }}", "invalid-url"),
        ("https://api.example.com/%2E%2e/{{ host }}", "invalid-url"),
        ("http://127.1/{{ host }}", "invalid-url"),
        ("http://①②⑦.⓪.⓪.①/{{ host }}", "invalid-url"),
        ("http://169.254.169.254/{{ host }}", "blocked-target"),
        ("http://[fd00:ec2::254]/{{ host }}", "blocked-target"),
    ],
)
def test_h1_a_url_with_no_constant_host_is_a_fault(url, code):
    tool = HttpTool(url, {"host": "string"})
    assert tool.faults == [(code, ("url",))]


@pytest.mark.parametrize(
    ("url", "offset"),
    [
        ("https://api.example.com/f/{{ ctiy }}", 29),
        ("https://api.example.com/f?q={{ ctiy }}", 31),
        ("https://api.example.com/f/{{ city }}/{{ ctiy }}", 40),
        ("https://{{ city }}/", 8),
        ("https://api.example.com/f g", 25),
    ],
)
def test_a_fault_in_a_url_points_into_the_url(url, offset):
    tool = HttpTool(url, {"city": "string"})
    errors = [each for each in tool.context.faults if each.severity == "error"]
    assert [each.offset for each in errors] == [offset]


@pytest.mark.parametrize(
    ("base", "url", "sent"),
    [
        ("/v1", "/f/{{ city }}", "/v1/f/a%2Fb"),
        ("/v1/", "/f/{{ city }}", "/v1/f/a%2Fb"),
        ("", "/f/{{ city }}", "/f/a%2Fb"),
        ("/{{ caller.tenant }}/v1", "/f/{{ city }}", "/acme/v1/f/a%2Fb"),
        ("/v1", "/?q={{ city }}", "/v1/?q=a%2Fb"),
    ],
)
async def test_a_relative_url_goes_under_its_target(base, url, sent):
    targets = {"api": {"url": base}}
    got = await heard(
        {"url": url, "target": "api"}, {"city": "string"}, {"city": "a/b"}, targets=targets
    )
    assert got.target == sent


def test_an_absolute_url_stays_under_its_target():
    targets = {"api": {"url": "https://api.example.com/v1"}}
    for url, faults in {
        "https://api.example.com/v1/x": [],
        "https://api.example.com/v1": [],
        "https://api.example.com/v10": [("outside-target", ("url",))],
        "https://api.example.com/": [("outside-target", ("url",))],
        "https://evil.example.com/v1/x": [("outside-target", ("url",))],
        "http://api.example.com/v1/x": [("outside-target", ("url",))],
    }.items():
        assert HttpTool({"url": url, "target": "api"}, targets=targets).faults == faults


def test_an_unknown_target_is_a_fault_with_the_nearest_name():
    tool = HttpTool(
        {"url": "/x", "target": "wether"}, targets={"weather": {"url": "https://w.example.com"}}
    )
    assert tool.faults == [("unknown-target", ("target",))]
    assert tool.context.faults[0].hint == "did you mean `weather`?"


def test_a_relative_url_without_a_target_is_a_fault():
    assert HttpTool("/x").faults == [("no-target", ("url",))]


# query, form, json, body


@pytest.mark.parametrize(
    ("query", "arguments", "sent"),
    [
        ({"q": "{{ s }}"}, {"s": "a b&c=d"}, "q=a%20b%26c%3Dd"),
        ({"q": "{{ s }}"}, {"s": ""}, "q="),
        ({"q": "{{ o }}", "r": 1}, {}, "r=1"),
        ({"q": "{{ o }}", "r": 1}, {"o": None}, "r=1"),
        ({"q": "{{ n }}", "r": "{{ b }}"}, {"n": 3, "b": False}, "q=3&r=false"),
        ({"q": "{{ l }}"}, {"l": ["a", "b c"]}, "q=a&q=b%20c"),
        ({"q": "{{ l }}"}, {"l": []}, ""),
        ({"q": ["x", "{{ s }}", "{{ o }}"]}, {"s": "&"}, "q=x&q=%26"),
        ({"q": {"from": "{{ s }}"}}, {"s": "a"}, "q%5Bfrom%5D=a"),
        (
            {"q": "in:{{ s }}", "r": "{{ s }} & {{ s }}"},
            {"s": "a b"},
            "q=in%3Aa%20b&r=a%20b%20%26%20a%20b",
        ),
        ({"q": "{{ vars.region }}"}, {}, "q=eu"),
        ({"q": "plain text"}, {}, "q=plain%20text"),
        ({"a b": True}, {}, "a%20b=true"),
        ({"q": None}, {}, ""),
    ],
)
async def test_query_values_are_encoded_and_absent_ones_vanish(query, arguments, sent):
    parameters = {
        "s": "string",
        "o": optional("string"),
        "n": "integer",
        "b": "boolean",
        "l": "array",
    }
    got = await heard({"url": "/x", "query": query}, parameters, arguments)
    assert got.target == (f"/x?{sent}" if sent else "/x")


async def test_a_query_in_the_url_goes_first():
    got = await heard({"url": "/x?a=1", "query": {"b": 2}})
    assert got.target == "/x?a=1&b=2"


async def test_json_keeps_types_and_drops_what_is_absent():
    tree = {
        "text": "{{ s }}",
        "number": "{{ n }}",
        "both": "{{ s }}-{{ n }}",
        "nested": {"list": ["{{ b }}", "{{ o }}", 1.5], "gone": "{{ o }}"},
        "null": None,
    }
    parameters = {"s": "string", "n": "integer", "b": "boolean", "o": optional("string")}
    arguments = {"s": '"é\n', "n": 2**53 + 1, "b": True}
    got = await heard({"url": "/x", "method": "POST", "json": tree}, parameters, arguments)
    assert json.loads(got.body) == {
        "text": '"é\n',
        "number": 2**53 + 1,
        "both": '"é\n-9007199254740993',
        "nested": {"list": [True, 1.5]},
        "null": None,
    }
    assert got.headers["content-type"] == "application/json"


async def test_json_may_be_one_value():
    got = await heard(
        {"url": "/x", "method": "PUT", "json": "{{ o }}"}, {"o": "object"}, {"o": {"a": [1]}}
    )
    assert got.body == b'{"a":[1]}'


async def test_json_of_half_a_surrogate_pair_is_refused():
    tool = HttpTool(
        {"url": "http://127.0.0.1/", "method": "POST", "json": {"s": "{{ s }}"}}, {"s": "string"}
    )
    assert (await failure(tool, s="\ud800")).code == "invalid-arguments"


async def test_a_form_nests_in_brackets():
    form = {"metadata": {"order": "{{ s }}"}, "items": [{"id": "{{ n }}"}], "tag": ["a", "b"]}
    got = await heard(
        {"url": "/x", "method": "POST", "form": form},
        {"s": "string", "n": "integer"},
        {"s": "a b&c", "n": 7},
    )
    expected = "metadata%5Border%5D=a+b%26c&items%5B0%5D%5Bid%5D=7&tag=a&tag=b"
    assert got.body.decode() == expected
    assert got.headers["content-type"] == "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("media_type", "text", "sent"),
    [
        ("text/xml", "<a b='{{ s }}'>{{ s }}</a>", "<a b='&lt;&apos;&amp;'>&lt;&apos;&amp;</a>"),
        ("application/soap+xml; charset=utf-8", "<a>{{ s }}</a>", "<a>&lt;&apos;&amp;</a>"),
        ("application/json", '{"a": "{{ s }}"}', '{"a": "<\'&"}'),
        ("text/plain", "say {{ s }}", "say <'&"),
        ("application/x-www-form-urlencoded", "a={{ s }}", "a=%3C%27%26"),
    ],
)
async def test_a_body_escapes_by_its_type(media_type, text, sent):
    options = {"url": "/x", "method": "POST", "body": {"type": media_type, "text": text}}
    got = await heard(options, {"s": "string"}, {"s": "<'&"})
    assert got.body.decode() == sent
    assert got.headers["content-type"] == media_type


async def test_a_json_text_cannot_be_left():
    options = {
        "url": "/x",
        "method": "POST",
        "body": {"type": "application/json", "text": '{"a": "{{ s }}"}'},
    }
    got = await heard(options, {"s": "string"}, {"s": '", "admin": true, "b": "'})
    assert json.loads(got.body) == {"a": '", "admin": true, "b": "'}


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"method": "POST", "json": {}, "form": {}}, ("one-body", ("form",))),
        (
            {"method": "POST", "form": {}, "body": {"type": "a/b", "text": ""}},
            ("one-body", ("body",)),
        ),
        ({"method": "POST", "json": {}, "args_in": "form"}, ("one-body", ("args_in",))),
        ({"method": "POST", "json": [], "args_in": "json"}, ("wrong-type", ("json",))),
        ({"json": {}}, ("missing-key", ("json",))),
        ({"args_in": "form"}, ("missing-key", ("args_in",))),
    ],
)
def test_bodies_that_do_not_go_together_are_a_fault(options, fault):
    assert HttpTool({"url": "https://api.example.com/", **options}).faults == [fault]


# args_in


async def test_args_in_query_sweeps_what_no_template_names():
    got = await heard(
        {"url": "/{{ city }}?units=metric", "query": {"lang": "en"}, "args_in": "query"},
        {
            "city": "string",
            "days": "integer",
            "lang": "string",
            "units": "string",
            "o": optional("string"),
        },
        {"city": "x", "days": 3, "lang": "de", "units": "imperial", "tenant": "acme"},
        bound={"tenant": "caller.tenant"},
    )
    assert got.target == "/x?units=metric&lang=en&days=3"


@pytest.mark.parametrize(
    ("place", "sent"),
    [
        ("json", b'{"b":[1,2],"c":{"d":null},"e":null,"a":"written"}'),
        ("form", b"a=written&b=1&b=2"),
    ],
)
async def test_args_in_a_body_sweeps_what_no_template_names(place, sent):
    options = {"url": "/x", "method": "POST", "args_in": place, place: {"a": "written"}}
    parameters = {"a": "string", "b": "array", "c": "object", "e": {"type": ["string", "null"]}}
    arguments = {"a": "given", "b": [1, 2], "c": {"d": None}, "e": None}
    assert (await heard(options, parameters, arguments)).body == sent


MEETING = {
    "meta[role]": "admin",
    "META[role]": "admin",
    "meta[ role ]": "admin",
    "meta.role": "admin",
    "meta[role][]": ["admin"],
    "meta[role": "admin",
    "Meta": "admin",
    "user_id[]": ["1"],
    "User.ID": "1",
    "user id": "1",
    "filter": {"status": "all", "name": "n"},
    "filter[STATUS]": "all",
    "list": [{"x": "1", "y": "2"}],
    "other[role]": "kept",
}
WRITTEN = {
    "meta": {"role": "user"},
    "user_id": "7",
    "filter[status]": "open",
    "list[0][x]": "w",
    "gone": "{{ absent }}",
}


def swept(place, arguments, written=None):
    options = {"url": "/x", "method": "POST", "args_in": place, place: written or WRITTEN}
    parameters = {name: {} for name in arguments} | {"absent": optional("string")}
    return heard(options, parameters, arguments)


async def test_args_in_never_meets_a_written_name_of_a_form():
    got = await swept("form", {**MEETING, "gone[x]": "1"})
    assert unquote_plus(got.body.decode()).split("&") == [
        "meta[role]=user",
        "user_id=7",
        "filter[status]=open",
        "list[0][x]=w",
        "filter[name]=n",
        "list[0][y]=2",
        "other[role]=kept",
    ]


async def test_args_in_never_meets_a_written_name_of_a_query():
    got = await swept("query", MEETING)
    assert unquote_plus(got.target).split("&")[4:] == [
        "filter[name]=n",
        "list[0][y]=2",
        "other[role]=kept",
    ]
    options = {"url": "/x?meta%5Brole%5D=user&f[{{ k }}]=1", "args_in": "query"}
    arguments = {"k": "a", "meta": {"role": "admin", "x": 1}, "f[a]": "2", "F": {"b": 3}}
    got = await heard(options, {name: {} for name in arguments}, arguments)
    assert unquote_plus(got.target) == "/x?meta[role]=user&f[a]=1&meta[x]=1"


async def test_args_in_never_meets_a_written_name_of_json():
    got = await swept("json", MEETING)
    sent = json.loads(got.body)
    assert {name: sent[name] for name in sent if name not in WRITTEN} == {
        "filter": {"name": "n"},
        "list": [{"y": "2"}],
        "other[role]": "kept",
    }
    assert sent["meta"] == {"role": "user"}


async def test_args_in_needs_nothing_written_beside_it():
    got = await heard(
        {"url": "/x", "method": "POST", "args_in": "json"}, {"a": "string"}, {"a": "b"}
    )
    assert got.body == b'{"a":"b"}'


def test_a_parameter_that_nothing_uses_is_a_warning():
    tool = HttpTool(
        "https://api.example.com/{{ used }}",
        {"used": "string", "unused": "string"},
        bound={"tenant": "caller.tenant"},
    )
    assert tool.faults == [("unused-parameter", ("/", "parameters", "unused"))]
    assert tool.context.faults[0].severity == "warning"


def test_a_parameter_is_not_called_unused_beside_an_error():
    tool = HttpTool("https://api.example.com/{{ sued }}", {"used": "string"})
    assert tool.faults == [("unknown-name", ("url",))]


# headers and credentials


async def test_headers_of_target_and_tool_are_merged():
    targets = {
        "api": {
            "url": "",
            "headers": {"X-A": "target", "X-B": "{{ caller.tenant }}", "X-C": "target"},
        }
    }
    headers = {"x-a": "{{ s }}", "X-C": None, "X-D": 5, "Accept": "text/csv", "X-E": "{{ o }}"}
    got = await heard(
        {"url": "/x", "target": "api", "headers": headers},
        {"s": "string", "o": optional("string")},
        {"s": "tool"},
        targets=targets,
    )
    assert got.headers["x-a"] == "tool"
    assert got.headers["x-b"] == "acme"
    assert got.headers["x-d"] == "5"
    assert got.headers["accept"] == "text/csv"
    assert got.headers.keys().isdisjoint({"x-c", "x-e", "content-type"})
    assert got.headers["user-agent"] == "toolrt"
    assert got.headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "a\0b", "a\x7fb", "é", "🎉", "\ud800"])
async def test_h5_a_header_value_is_printable_ascii_on_one_line(value):
    tool = HttpTool({"url": "http://127.0.0.1/", "headers": {"X": "{{ s }}"}}, {"s": "string"})
    error = await failure(tool, s=value)
    assert error.code == "invalid-arguments"


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("Host", "evil.example.com", "reserved-header"),
        ("content-length", "0", "reserved-header"),
        ("Transfer-Encoding", "chunked", "reserved-header"),
        ("Connection", "{{ s }}", "reserved-header"),
        ("Accept-Encoding", "br", "reserved-header"),
        ("X Y", "1", "invalid-header"),
        ("X-{{ s }}", "1", "invalid-header"),
        ("X:Y", "1", "invalid-header"),
        ("", "1", "invalid-header"),
        ("X", "é {{ s }}", "invalid-header"),
        ("X", "a\nb", "invalid-header"),
        ("X", ["a"], "wrong-type"),
    ],
)
def test_h5_headers_that_no_tool_may_set_are_a_fault(name, value, code):
    options = {"url": "https://api.example.com/{{ s }}", "headers": {name: value}}
    assert HttpTool(options, {"s": "string"}).faults == [(code, ("headers", name))]


@pytest.mark.parametrize(
    ("auth", "name", "value"),
    [
        ({"bearer": "${secret:key}"}, "authorization", "Bearer s3cr3t-value"),
        (
            {"basic": {"username": "ada", "password": "${secret:key}"}},
            "authorization",
            "Basic " + base64.b64encode(b"ada:s3cr3t-value").decode(),
        ),
        ({"api_key": {"header": "X-Key", "value": "${secret:key}"}}, "x-key", "s3cr3t-value"),
        ({"api_key": {"cookie": "key", "value": "${secret:key}"}}, "cookie", "key=s3cr3t-value"),
    ],
)
async def test_a_credential_goes_into_a_header(auth, name, value):
    got = await heard(
        {"url": "/x", "target": "api"},
        targets={"api": {"url": "", "auth": auth}},
        environ={"TOOLRT_SECRET_KEY": "s3cr3t-value"},
    )
    assert got.headers[name] == value


async def test_a_credential_may_go_into_the_query_and_no_argument_takes_its_place():
    got = await heard(
        {"url": "/x", "target": "api", "args_in": "query"},
        {"key": "string", "q": "string"},
        {"key": "mine", "q": "1"},
        targets={"api": {"url": "", "auth": {"api_key": {"query": "key", "value": "${env:K}"}}}},
        environ={"K": "a b&c"},
    )
    assert got.target == "/x?q=1&key=a%20b%26c"


async def test_a_credential_of_the_caller_is_used_for_that_caller():
    targets = {"api": {"url": "", "auth": {"bearer": "${caller:github}"}}}
    caller = Caller(principal="ada", credentials={"github": Secret("her-own-token")})
    got = await heard({"url": "/x", "target": "api"}, targets=targets, caller=caller)
    assert got.headers["authorization"] == "Bearer her-own-token"


@pytest.mark.parametrize(
    "auth",
    [
        {"bearer": "${caller:github}"},
        {"basic": {"username": "ada", "password": "${tenant:key}"}},
        {"api_key": {"header": "X-Key", "value": "{{ caller.claims.key }}"}},
        {"api_key": {"query": "key", "value": "${caller:github}"}},
        {"api_key": {"cookie": "key", "value": "a b;c"}},
        {"api_key": {"header": "X-Key", "value": "a\r\nX-Admin: 1"}},
        {"bearer": "é"},
        {"bearer": ""},
    ],
)
async def test_without_a_credential_nothing_is_sent(auth):
    async with loopback(reply()) as server:
        tool = HttpTool(
            {"url": "/x", "target": "api"}, targets={"api": {"url": server.url, "auth": auth}}
        )
        error = await failure(tool)

    assert error.code in {"missing-credential", "access-denied"}
    assert server.connections == 0
    assert tool.invocation.sent == "never"


def test_a_reference_that_is_missing_at_load_makes_the_tool_unavailable():
    targets = {"api": {"url": "https://api.example.com", "auth": {"bearer": "${env:NO_TOKEN}"}}}
    tool = HttpTool({"url": "/x", "target": "api"}, targets=targets)
    assert tool.faults == []
    assert "NO_TOKEN" in tool.unavailable


async def test_a_secret_by_command_is_fetched_before_the_call(tmp_path):
    got = await heard(
        {"url": "/x", "headers": {"X-Key": "${secret:key}"}},
        secrets=[{"command": ["/bin/echo", "from-a-command"]}],
        project=tmp_path,
    )
    assert got.headers["x-key"].startswith("from-a-command")


def test_a_header_that_auth_sets_is_not_written_twice():
    targets = {"api": {"url": "https://api.example.com", "auth": {"bearer": "t"}}}
    tool = HttpTool(
        {"url": "/x", "target": "api", "headers": {"authorization": "mine"}}, targets=targets
    )
    assert tool.faults == [("header-twice", ("headers", "authorization"))]


# answers


async def answer(raw, **options):
    async with loopback(raw) as server:
        return await HttpTool({"url": f"{server.url}/", **options}).call()


@pytest.mark.parametrize(
    ("content_type", "body", "value"),
    [
        ("application/json", b'{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}),
        ("application/problem+json; charset=utf-8", b'"x"', "x"),
        ("application/x-ndjson", b'{"a":1}\n{"a":2}\n', [{"a": 1}, {"a": 2}]),
        ("text/plain", "é".encode(), "é"),
        ("text/plain; charset=iso-8859-1", "é".encode("latin-1"), "é"),
        ("text/html", b"<p>", "<p>"),
        ("application/xml", b"<a/>", "<a/>"),
        ("image/svg+xml", b"<svg/>", "<svg/>"),
        ("image/png", b"\x89PNG", {"base64": "iVBORw==", "media_type": "image/png"}),
        ("application/pdf", b"%PDF", {"base64": "JVBERg==", "media_type": "application/pdf"}),
    ],
)
async def test_an_answer_is_read_by_its_content_type(content_type, body, value):
    got = await answer(reply(body, content_type=content_type))
    assert got.value == value
    assert got.status == 200
    assert got.headers["content-type"] == content_type


@pytest.mark.parametrize(
    "charset", ["iso-8859-12", "iso-8859-99", "windows-9999", "utf-7", "nonsense", "", '"', "hex"]
)
async def test_an_answer_in_a_charset_that_is_none_is_read_as_utf_8(charset):
    kinds = (("text/plain", "é", "é"), ("application/json", '"é"', "é"))
    for kind, body, value in kinds:
        got = await answer(reply(body, content_type=f"{kind}; charset={charset}"))
        assert got.value == value
    with pytest.raises(BindingError) as failed:
        await answer(reply(b'"\xff"', content_type=f"application/json; charset={charset}"))
    assert failed.value.code == "bad-response"


async def test_an_answer_without_a_type_is_text_if_it_can_be():
    assert (await answer(reply("text"))).value == "text"
    assert (await answer(reply(b"\xff"))).value == {
        "base64": "/w==",
        "media_type": "application/octet-stream",
    }


@pytest.mark.parametrize(
    ("output", "body", "value"),
    [
        ("json", b"[1]", [1]),
        ("jsonl", b"1\n2\n", [1, 2]),
        ("lines", b"a\nb\n", ["a", "b"]),
        ("text", b'{"a": 1}', '{"a": 1}'),
        ("bytes", b"a", {"base64": "YQ==", "media_type": "text/odd"}),
        ("json", b"", None),
        ("text", b"", None),
    ],
)
async def test_a_declared_output_goes_before_the_content_type(output, body, value):
    assert (await answer(reply(body, content_type="text/odd"), output=output)).value == value


async def test_an_answer_of_204_is_nothing():
    assert (await answer(b"HTTP/1.1 204 No Content\r\n\r\n", output="json")).value is None


@pytest.mark.parametrize("status", [200, 201, 299])
async def test_any_2xx_is_success(status):
    assert (await answer(json_reply("1", status))).status == status


async def test_success_may_be_declared():
    assert (await answer(json_reply('{"e": 1}', 404), success=[200, 404])).value == {"e": 1}
    with pytest.raises(BindingError) as failed:
        await answer(json_reply("{}", 201), success=[200, 404])
    assert failed.value.status == 201


@pytest.mark.parametrize(
    ("status", "retryable", "target_fault"),
    [
        (400, False, False),
        (401, False, False),
        (403, False, False),
        (404, False, False),
        (408, True, False),
        (409, False, False),
        (410, False, False),
        (422, False, False),
        (425, True, False),
        (429, True, False),
        (500, True, True),
        (501, False, True),
        (502, True, True),
        (503, True, True),
        (504, True, True),
        (505, False, True),
        (302, False, False),
    ],
)
async def test_e4_a_failed_status_says_whether_trying_again_may_help(
    status, retryable, target_fault
):
    with pytest.raises(BindingError) as failed:
        await answer(reply("no", status))
    error = failed.value
    assert error.message == f"the service answered {status}"
    assert (error.status, error.details["status"], error.sent) == (status, status, "answered")
    assert (error.retryable, error.target_fault) == (retryable, target_fault)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "execution-failed"),
        (401, "access-denied"),
        (403, "access-denied"),
        (404, "not-found"),
        (409, "conflict"),
        (410, "not-found"),
        (412, "conflict"),
        (422, "execution-failed"),
        (429, "rate-limited"),
        (500, "execution-failed"),
        (503, "execution-failed"),
    ],
)
async def test_a_failed_status_has_the_code_of_what_it_means(status, code):
    with pytest.raises(BindingError) as failed:
        await answer(reply("no", status))
    assert failed.value.code == code


HOSTILE = (
    "",
    "\x00",
    "\xff",
    "é",
    "a" * 9000,
    ";",
    "=",
    '"',
    "NaN",
    "-1",
    "1e999",
    "9" * 30,
    "1, 1",
    "%00",
    "gzip, gzip",
    "x-gzip",
    "br",
    "chunked, chunked",
    "text/plain; charset=iso-8859-99",
    "application/json; charset=utf-16",
    "application/json; charset=idna",
    "Fri, 01 Jan 99999999999 00:00:00 GMT",
    "<https://[::1>; rel=next",
)


@pytest.mark.parametrize(
    "name",
    [
        "Connection",
        "Content-Encoding",
        "Content-Length",
        "Content-Type",
        "Date",
        "Link",
        "Location",
        "Retry-After",
        "Sec-WebSocket-Key1",
        "Set-Cookie",
        "Transfer-Encoding",
        "Upgrade",
    ],
)
async def test_h7_no_header_of_a_service_is_more_than_a_bad_answer(name):
    said = [b""]
    async with loopback(lambda _: said[0]) as server:
        for value in HOSTILE:
            for status in (b"200 OK", b"302 Found", b"503 No"):
                field = f"{name}: {value}\r\n".encode("latin-1")
                length = b"" if name == "Content-Length" else b"Content-Length: 2\r\n"
                head = b"HTTP/1.1 " + status + b"\r\nConnection: close\r\n" + length
                said[0] = head + field + b"\r\n{}"
                with contextlib.suppress(CallError):
                    await HttpTool({"method": "POST", "url": server.url}).call()
        assert len(server.heard) == len(HOSTILE) * 3


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        ("7", 7, 7),
        ("0", 0, 0),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 1e9, 1e10),
        ("Friday, 01-Jan-2100 00:00:00 GMT", 1e9, 1e10),
        ("99999999999999999999", 1e11, 1e12),
    ],
)
async def test_e6_retry_after_is_seconds_or_a_date(value, low, high):
    with pytest.raises(BindingError) as failed:
        await answer(reply("", 503, retry_after=value))
    assert low <= failed.value.retry_after_s <= high


@pytest.mark.parametrize(
    "value",
    [
        "-5",
        "soon",
        "",
        "1.5",
        "1e3",
        "٣",
        "5, 7",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Fri, 99 Foo 2100 99:00:00 GMT",
        "Fri, 01 Jan 2100 00:00:00 GMT, 5",
        "Fri, 01 Jan 99999 00:00:00 GMT",
        "Fri, 01 Jan 99999999999 00:00:00 GMT",
        "Fri, 01 Jan 2100 00:00:99999999999999999999",
        "Fri, 01 Jan 2100 00:00:00 +99999999999999",
        "Fri, 01 Jan 2100 00:00:00 -9999",
        "NaN",
        "1e999",
        "inf",
    ],
)
async def test_e6_retry_after_that_is_nonsense_is_nothing(value):
    with pytest.raises(BindingError) as failed:
        await answer(reply("", 503, retry_after=value))
    assert failed.value.retry_after_s is None


async def test_e6_two_retry_afters_are_nothing():
    raw = b"HTTP/1.1 503 No\r\nRetry-After: 5\r\nRetry-After: 6\r\nContent-Length: 0\r\n\r\n"
    with pytest.raises(BindingError) as failed:
        await answer(raw)
    assert failed.value.retry_after_s is None


async def test_e6_what_a_service_asks_for_is_told():
    with pytest.raises(BindingError) as failed:
        await answer(reply("", 429, retry_after="90"))
    assert failed.value.details["retry_after"] == 90
    assert failed.value.hint == "it asks to wait 90 s"


@pytest.mark.parametrize("value", ["0", "soon", "86401", "99999999999999999999"])
async def test_e6_a_wait_that_nobody_waits_is_not_told(value):
    with pytest.raises(BindingError) as failed:
        await answer(reply("", 429, retry_after=value))
    assert "retry_after" not in failed.value.details
    assert failed.value.hint is None


async def test_a_failed_answer_gives_its_json_to_the_result_and_an_excerpt_to_the_operator():
    with pytest.raises(BindingError) as failed:
        await answer(json_reply('{"error": {"message": "no such city"}}', 404))
    error = failed.value
    assert error.body == {"error": {"message": "no such city"}}
    assert error.details == {"status": 404, "body": '{"error": {"message": "no such city"}}'}
    assert "127.0.0.1" not in error.message


async def test_an_excerpt_is_short_and_shows_what_would_not_show():
    body = "\x1b[2J\u202e" + "x" * 1000
    with pytest.raises(BindingError) as failed:
        await answer(reply(body, 500, content_type="text/plain"))
    excerpt = failed.value.details["body"]
    assert excerpt.startswith("\\u001b[2J\\u202exxx")
    assert len(excerpt) == 300


async def test_a_binary_failure_has_no_excerpt():
    with pytest.raises(BindingError) as failed:
        await answer(reply(b"\x89PNG", 500, content_type="image/png"))
    assert failed.value.details == {"status": 500}


async def test_json_that_does_not_parse_is_a_bad_response():
    with pytest.raises(BindingError) as failed:
        await answer(reply("<html>oops", content_type="text/html"), output="json")
    error = failed.value
    assert (error.code, error.status, error.sent) == ("bad-response", 200, "answered")
    assert not error.retryable


# sent, or not


async def test_e5_a_post_to_a_server_that_resets_is_sent_once():
    async with loopback(RESET) as server:
        tool = HttpTool({"url": server.url, "method": "POST", "json": {"pay": 1}})
        error = await failure(tool)

    assert (error.sent, error.retryable) == ("maybe", True)
    assert tool.invocation.sent == "maybe"
    assert [each.body for each in server.heard] == [b'{"pay":1}']


async def test_e5_a_post_that_is_refused_was_never_sent():
    tool = HttpTool(
        {"url": f"http://127.0.0.1:{refused_port()}/", "method": "POST", "json": {"pay": 1}}
    )
    error = await failure(tool)
    assert (error.sent, error.retryable, tool.invocation.sent) == ("never", True, "never")


async def test_e10_the_same_call_is_the_same_bytes():
    parameters = {"a": "object", "b": "array"}
    async with loopback(json_reply("{}")) as server:
        tool = HttpTool({"url": f"{server.url}/x", "method": "POST", "args_in": "json"}, parameters)
        invocation = tool.invoke({"b": [1, {"z": 1, "a": 2}], "a": {"y": 1.0, "x": "é"}})
        await tool.binding.call(invocation)
        await tool.binding.call(invocation)
        await tool.services.close()

    assert server.heard[0] == server.heard[1]


async def test_t1_values_are_never_templates():
    got = await heard(
        {"url": "/x", "method": "POST", "json": {"a": "{{ s }}", "b": "pre {{ s }}"}},
        {"s": "string"},
        {"s": "{{ caller.tenant }} ${env:HOME}"},
    )
    assert json.loads(got.body) == {
        "a": "{{ caller.tenant }} ${env:HOME}",
        "b": "pre {{ caller.tenant }} ${env:HOME}",
    }


# what the target says


async def test_redirects_of_a_target_are_followed_and_a_tool_may_say_no():
    def moved(heard):
        return reply("", 302, location="/there") if heard.target == "/x" else json_reply("1")

    async with loopback(moved) as server:
        targets = {"api": {"url": server.url, "redirects": True}}
        tool = HttpTool({"url": "/x", "target": "api"}, targets=targets)
        assert (await tool.call()).value == 1
        tool = HttpTool({"url": "/x", "target": "api", "redirects": False}, targets=targets)
        error = await failure(tool)
    assert error.status == 302
    assert "redirects" in error.hint


@pytest.mark.parametrize(
    ("target", "options", "is_open"),
    [
        (False, {}, False),
        (True, {}, True),
        (["127.0.0.0/8"], {}, True),
        (["10.0.0.0/8"], {}, False),
        (False, {"allow_private": True}, True),
        (True, {"allow_private": False}, False),
        (True, {"allow_private": ["10.0.0.0/8"]}, False),
    ],
)
async def test_h2_allow_private_of_the_tool_goes_before_that_of_its_target(
    target, options, is_open
):
    async def resolve(host, port):
        return ["127.0.0.1"]

    async with loopback(json_reply("1")) as server:
        url = f"http://inside.example:{server.port}"
        targets = {"api": {"url": url, "allow_private": target}}
        tool = HttpTool({"url": "/x", "target": "api", **options}, targets=targets, resolve=resolve)
        if is_open:
            assert (await tool.call()).value == 1
        else:
            assert (await failure(tool)).code == "blocked-target"


async def test_r30_the_connect_timeout_is_the_targets_or_the_tools():
    async with loopback() as server:
        url = f"https://127.0.0.1:{server.port}"
        for more in (
            {"targets": {"api": {"url": url, "timeout": "50ms"}}},
            {"targets": {"api": {"url": url}}, "connect_timeout_s": 0.05},
        ):
            tool = HttpTool({"url": "/x", "target": "api"}, **more)
            error = await failure(tool)
            assert (error.code, error.sent) == ("timeout", "never")


@pytest.mark.parametrize(
    ("target", "faults"),
    [
        ({"url": "https://api.example.com/v1"}, []),
        ({"url": "/v1"}, [("invalid-url", ("url",))]),
        ({"url": "https://api.example.com/?a=b"}, [("invalid-url", ("url",))]),
        ({"url": "https://{{ caller.tenant }}.example.com/"}, [("value-in-host", ("url",))]),
        ({"url": "http://169.254.169.254/"}, [("blocked-target", ("url",))]),
        (
            {"url": "https://a.example", "headers": {"Host": "b"}},
            [("reserved-header", ("headers", "Host"))],
        ),
        (
            {"url": "https://a.example", "headers": {"X": "{{ city }}"}},
            [("unknown-name", ("headers", "X"))],
        ),
        (
            {"url": "https://a.example", "auth": {"bearer": "${TOKEN}"}},
            [("bad-reference", ("auth", "bearer"))],
        ),
        (
            {
                "url": "https://a.example",
                "auth": {"api_key": {"header": "a b", "value": "${env:KEY}"}},
            },
            [("invalid-header", ("auth", "api_key", "header"))],
        ),
        (
            {
                "url": "https://a.example",
                "auth": {"api_key": {"header": "Host", "value": "${env:KEY}"}},
            },
            [("reserved-header", ("auth", "api_key", "header"))],
        ),
        (
            {
                "url": "https://a.example",
                "auth": {"bearer": "${env:KEY}"},
                "headers": {"Authorization": "y"},
            },
            [("header-twice", ("headers", "Authorization"))],
        ),
        (
            {"url": "https://a.example", "allow_private": ["10.0.0.0/8", "10.0.0.0/99"]},
            [("invalid-value", ("allow_private", 1))],
        ),
        (
            {"url": "https://a.example", "tls": {"ca": "no.pem"}},
            [("file-not-found", ("tls", "ca"))],
        ),
        (
            {"url": "https://a.example", "tls": {"cert": "no.pem"}},
            [("invalid-value", ("tls",)), ("file-not-found", ("tls", "cert"))],
        ),
    ],
)
def test_a_target_reports_its_own_faults_and_its_tools_do_not(target, faults):
    from toolrt.bindings.http import check_target
    from toolrt.manifest.target import Target

    checking = HttpTool("https://other.example/").context
    check_target(Target.model_validate(target), checking)
    assert [(fault.code, fault.path) for fault in checking.faults] == faults

    tool = HttpTool(
        {"url": "/x/{{ city }}", "target": "api"}, {"city": "string"}, targets={"api": target}
    )
    assert tool.faults == []


# the kind itself


@pytest.mark.parametrize(
    ("options", "effect", "is_idempotent"),
    [
        ("https://a.example", "read", True),
        ({"url": "https://a.example", "method": "HEAD"}, "read", True),
        ({"url": "https://a.example", "method": "OPTIONS"}, "write", True),
        ({"url": "https://a.example", "method": "PUT"}, "write", True),
        ({"url": "https://a.example", "method": "DELETE"}, "write", True),
        ({"url": "https://a.example", "method": "POST"}, "write", False),
        ({"url": "https://a.example", "method": "PATCH"}, "write", False),
    ],
)
def test_a_method_implies_an_effect(options, effect, is_idempotent):
    spec = KIND.spec.model_validate(long_http(options))
    assert (KIND.effect(spec), KIND.is_idempotent(spec)) == (effect, is_idempotent)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"url": 5},
        {"url": "https://a.example", "method": "get"},
        {"url": "https://a.example", "method": "TRACE"},
        {"url": "https://a.example", "methd": "GET"},
        {"url": "https://a.example", "output": "yaml"},
        {"url": "https://a.example", "success": 200},
        {"url": "https://a.example", "success": ["200"]},
        {"url": "https://a.example", "body": "text"},
        {"url": "https://a.example", "redirects": "yes"},
        {"url": "https://a.example", "allow_private": "10.0.0.0/8"},
        {"url": "https://a.example", "json_body": {}},
    ],
)
def test_options_that_are_wrong_are_refused(options):
    with pytest.raises(ValidationError):
        KIND.spec.model_validate(options)


def test_a_preview_shows_the_request_and_no_secret():
    targets = {
        "api": {
            "url": "https://api.example.com/v1",
            "auth": {"bearer": "${secret:key}"},
            "headers": {"X-Team": "${env:TEAM}"},
        }
    }
    tool = HttpTool(
        {
            "url": "/f/{{ city }}",
            "target": "api",
            "method": "POST",
            "query": {"k": "${secret:key}", "days": "{{ days }}"},
            "json": {"city": "{{ city }}", "k": "${secret:key}"},
        },
        {"city": "string", "days": "integer"},
        targets=targets,
        environ={"TOOLRT_SECRET_KEY": "s3cr3t-value", "TEAM": "blue-team"},
    )
    shown = tool.preview(city="a/b", days=3)
    assert shown["method"] == "POST"
    assert shown["url"] == "https://api.example.com/v1/f/a%2Fb?k=%24%7Bsecret%3Akey%7D&days=3"
    assert shown["headers"]["Authorization"] == "Bearer ${secret:key}"
    assert shown["headers"]["X-Team"] == "${env:TEAM}"
    assert shown["body"] == {"city": "a/b", "k": "${secret:key}"}
    assert "s3cr3t" not in str(shown)
    assert tool.invocation.sent == "maybe"


@pytest.mark.parametrize(
    "auth",
    [
        {"basic": {"username": "ada", "password": "${secret:key}"}},
        {"api_key": {"query": "key", "value": "${secret:key}"}},
        {"api_key": {"cookie": "key", "value": "${secret:key}"}},
    ],
)
def test_a_preview_shows_no_credential_of_any_kind(auth):
    tool = HttpTool(
        {"url": "/x", "target": "api"},
        targets={"api": {"url": "https://api.example.com", "auth": auth}},
        environ={"TOOLRT_SECRET_KEY": "s3cr3t-value"},
    )
    shown = json.dumps(tool.preview())
    assert "s3cr3t" not in shown
    assert base64.b64encode(b"ada:s3cr3t-value").decode() not in shown
