"""Prompts, resources and toolsets of the files."""

import pytest

from toolrt.catalog.offered import pattern
from toolrt.runtime import load
from toolrt.testing import write_files


def compiled(folder, **files):
    return load(write_files(folder, {f"tools.d/{name}.yaml": text for name, text in files.items()}))


def test_they_are_in_the_namespace_of_their_file_but_toolsets_are_not(folder):
    text = """
    namespace: shop
    tools: {pay: {description: Pays., command: [/bin/true]}}
    prompts: {ask: {text: Hello.}}
    resources: {note: {uri: "docs://note", text: One.}}
    toolsets: {all: {tools: ["*"]}}
    """
    snapshot = compiled(folder, a=text).snapshot

    assert list(snapshot.prompts) == ["shop.ask"]
    assert list(snapshot.resources) == ["shop.note"]
    assert list(snapshot.toolsets) == ["all"]


def test_a_second_one_of_a_name_is_refused(folder):
    made = compiled(folder, a="prompts: {p: {text: A.}}", b="prompts: {p: {text: B.}}")

    assert [each.code for each in made.diagnostics if each.severity == "error"] == [
        "duplicate-offer"
    ]


def test_a_name_in_a_uri_stands_for_one_segment():
    found = pattern("a://{x}/b.{y}")

    assert found.fullmatch("a://1/b.2").groupdict() == {"x": "1", "y": "2"}
    assert found.fullmatch("a://1/2/b.3") is None
    assert found.fullmatch("a://1/bx2") is None


def test_what_a_uri_fills_in_is_decoded(folder):
    text = 'resources: {r: {uri: "a://{x}", text: "{{ x }}"}}'
    (resource,) = compiled(folder, a=text).snapshot.resources.values()

    assert resource.match("a://caf%C3%A9%2F..") == {"x": "café/.."}
    assert resource.match("b://x") is None


TOOLS = """
tools:
  look: {description: Looks., command: [/bin/true], effect: read}
  count: {description: Counts., command: [echo, "{{ n }}"], parameters: {n: integer}, effect: read}
  pay: {description: Pays., command: [/bin/true], effect: write}
"""


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ('toolsets: {s: {tools: [look, "wallet.*"]}}', "no-such-tool", "`wallet.*` is no tool"),
        ('toolsets: {s: {tools: [look], hide: ["x*"]}}', "no-such-tool", "`x*` is no tool"),
        ("toolsets: {s: {tools: []}}", "empty-toolset", "no tool"),
        ("toolsets: {s: {tools: [look], hide: [look]}}", "empty-toolset", "no tool"),
        ("toolsets: {x/y: {tools: [look]}}", "bad-name", "`x/y` is no name of a toolset"),
        ("prompts: {A B: {text: Hello.}}", "bad-name", "`A B` is no name of a prompt"),
        ("resources: {a/b: {uri: 'a://b', text: x}}", "bad-name", "`a/b` is no name of a resource"),
        ("resources: {a: {uri: 'a://b', text: x}, b: {uri: 'a://b', text: y}}",
         "duplicate-offer", "that of the resource `a`"),
        ("resources: {a: {uri: 'a://{x}', text: x}, b: {uri: 'a://{y}', text: y}}",
         "duplicate-offer", "that of the resource `a`"),
        ("resources: {a: {uri: 'a://b', tool: pay}}", "writing-offer", "calls `pay`"),
        ("prompts: {a: {tool: pay}}", "writing-offer", "calls `pay`"),
        ("resources: {a: {uri: 'a://b', tool: count}}", "missing-argument", "needs `n`"),
        ("resources: {a: {uri: 'a://{n}/{m}', tool: count}}", "unknown-argument", "not take `m`"),
        ("prompts: {a: {tool: count, arguments: {n: N, m: M}}}", "unknown-argument", "`m`"),
    ],
)  # fmt: skip
def test_what_could_never_work_or_does_more_than_it_shows_is_found(folder, text, code, says):
    found = compiled(folder, a=TOOLS, b=text).diagnostics

    assert [(each.code, says in each.message) for each in found] == [(code, True)]


def test_what_fits_is_not_told(folder):
    text = """
    toolsets: {s: {tools: ["*"], hide: ["p*"]}}
    prompts: {Ask-me.now: {tool: count, arguments: {n: N}}}
    resources: {a: {uri: "a://{n}", tool: count}, b: {uri: "a://b/{n}", tool: count}}
    """

    assert [each.message for each in compiled(folder, a=TOOLS, b=text).diagnostics] == []
