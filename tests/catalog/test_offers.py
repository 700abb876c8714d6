"""Prompts, resources and toolsets of the files."""

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
