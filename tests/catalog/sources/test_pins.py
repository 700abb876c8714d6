"""Pins: what they hash, what wins, and a lock that was tampered with."""

import json

import pytest

from toolrt.bindings.mcp import Definition
from toolrt.catalog.sources.pins import LockError, Pin, PinBook, read_lock, written_lock

ENDPOINT = {"command": ["npx", "-y", "x"]}
WRITTEN = {
    "description": "Read a file.",
    "inputSchema": {"type": "object"},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
    "title": "Read",
}


def pin(name="read", endpoint=ENDPOINT, **changes):
    return Pin(Definition(name, {**WRITTEN, **changes}), endpoint)


CHANGED = [
    pin(name="reads"),
    pin(description="Read a file. "),
    pin(inputSchema={"type": "object", "properties": {}}),
    pin(outputSchema={"type": "object", "title": "x"}),
    pin(annotations={}),
    pin(title="read"),
    pin(endpoint={"command": ["npx", "-y", "y"]}),
]


@pytest.mark.parametrize("changed", CHANGED)
def test_x1_every_part_of_a_definition_counts(changed):
    assert changed.digest != pin().digest


def test_the_order_of_keys_does_not_count():
    assert pin(inputSchema={"a": 1, "b": 2}).digest == pin(inputSchema={"b": 2, "a": 1}).digest


def test_the_first_sight_is_a_pin_and_is_to_be_written_once():
    book = PinBook()

    assert book.judged("files", pin(), {}).verdict == "new"
    assert book.judged("files", pin(), {}).verdict == "same"
    assert [each.tool for each in book.take_fresh()] == ["read"]
    assert book.take_fresh() == []


def test_another_definition_is_changed_and_the_pin_stays():
    book = PinBook()
    book.judged("files", pin(), {})
    judged = book.judged("files", pin(description="Other."), {})

    assert judged.verdict == "changed"
    assert judged.pin.definition.description == "Read a file."


def test_the_lock_wins_over_what_this_machine_has_seen():
    book, lock = PinBook(), {"files": {"read": pin(description="Approved.")}}
    book.judged("files", pin(), {})

    assert book.judged("files", pin(), lock).verdict == "changed"
    assert book.judged("files", pin(description="Approved."), lock).verdict == "same"


def test_a_tool_that_the_lock_does_not_know_has_to_be_approved_first():
    lock = {"files": {"read": pin()}}

    assert PinBook().judged("files", pin("write"), lock).verdict == "unapproved"
    assert PinBook().judged("other", pin("write"), lock).verdict == "new"


def test_what_is_damaged_in_the_store_is_no_first_sight():
    book = PinBook()
    book.load([pin().stored("files")._replace(digest="0")])

    assert book.judged("files", pin(), {}).verdict == "unapproved"
    assert book.judged("files", pin(), {"files": {"read": pin()}}).verdict == "same"
    assert book.judged("files", pin(), {}).verdict == "same"


def test_what_a_lock_says_is_to_be_written_once():
    book, lock = PinBook(), {"files": {"read": pin(description="Approved.")}}
    book.judged("files", pin(), {})
    book.judged("files", pin(), lock)

    assert book.take_fresh() == []
    assert [each.digest for each in book.take_approved()] == [pin(description="Approved.").digest]
    assert book.take_approved() == []


def forged(definition: str) -> bytes:
    return (
        '{"toolrt": 1, "sources": {"s": {"read": {"sha256": "0", "definition": '
        f"{definition}}}}}}}"
    ).encode()


@pytest.mark.parametrize(
    "content",
    [
        forged('{"name": "read", "endpoint": "abc"}'),
        forged('{"name": "read", "endpoint": 5}'),
        forged('{"name": "read", "endpoint": [1]}'),
        forged('{"name": "read", "endpoint": {}, "x": NaN}'),
        forged('{"name": "read", "endpoint": {}, "x": 1e400}'),
        forged('{"name": "read", "endpoint": {}, "x": "\\ud800"}'),
        forged('{"name": "read", "endpoint": {}, "x": ' + '{"x":' * 150 + "1" + "}" * 152),
        b"[" * 100_000,
        b"<<<<<<< HEAD\n" + written_lock({"s": {"read": pin()}}),
        written_lock({"s": {"read": pin()}})[:200],
    ],
)
def test_a_forged_lock_is_refused_and_no_bug(content):
    with pytest.raises(LockError):
        read_lock(content)


def test_a_lock_that_says_something_twice_is_refused():
    twice = written_lock({"s": {}}).replace(b'"s": {}', b'"s": {}, "s": {}')
    with pytest.raises(LockError, match="twice"):
        read_lock(twice)


def test_what_the_store_has_is_known_again_and_what_is_damaged_there_is_not():
    book = PinBook()
    stored = pin().stored("files")
    book.load([stored, stored._replace(tool="x", digest="0"), stored._replace(definition="{")])

    assert list(book.known) == [("files", "read")]
    assert book.judged("files", pin(), {}).verdict == "same"


def test_a_lock_is_read_as_it_was_written_and_hides_nothing():
    lock = {"files": {"read": pin(description="a\u202eb\u200b é")}}
    content = written_lock(lock)

    assert read_lock(content)["files"]["read"].digest == lock["files"]["read"].digest
    assert content.isascii()
    assert content == written_lock(read_lock(content))


def test_a_lock_whose_definition_was_changed_by_hand_is_refused():
    document = json.loads(written_lock({"files": {"read": pin()}}))
    document["sources"]["files"]["read"]["definition"]["description"] = "Other."

    with pytest.raises(LockError, match="sha256"):
        read_lock(json.dumps(document).encode())


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"toolrt": 2}', b'{"toolrt": 1, "x": 1}'])
def test_what_is_no_lock_is_refused(content):
    with pytest.raises(LockError):
        read_lock(content)
