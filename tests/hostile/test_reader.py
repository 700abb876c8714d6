"""Class F: files that are meant to break, deceive or exhaust whoever reads them.

Each is refused with one stable code at a place, quickly, and without growing the process.
"""

import time
from pathlib import Path

import pytest

from toolrt.loading.reader import read
from toolrt.loading.snippet import render

MANY = 100_000
FULL = 4 * 1024 * 1024
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30)
)
MERGES = "m0: &m0 {a: 1}\n" + "".join(
    f"m{i}: &m{i} {{<<: [*m{i - 1}, *m{i - 1}], k{i}: 1}}\n" for i in range(1, 3000)
)

REFUSED = {
    "98 duplicate decide": ("rules: [{id: a, decide: allow, decide: deny}]", "duplicate-key"),
    "101 alias to itself": ("&a [*a]", "alias-to-itself"),
    "101 alias to itself by merge": ("a: &a {<<: [*a]}", "alias-to-itself"),
    "102 brackets": ("[" * MANY, "too-deep"),
    "102 brackets on lines": ("[\n" * MANY, "too-deep"),
    "102 braces": ("{" * MANY, "too-deep"),
    "102 nested mappings": ("{a: " * MANY, "too-deep"),
    "102 dashes": ("- " * MANY, "too-deep"),
    "102 indentation": ("".join(f"{' ' * i}a:\n" for i in range(1500)), "too-deep"),
    "103 os.system": ("!!python/object/apply:os.system [id]", "unknown-tag"),
    "103 os.system by handle": (
        "%TAG !p! tag:yaml.org,2002:python/\n---\na: !p!object/apply:os.system [id]",
        "unknown-tag",
    ),
    "103 name as a key": ("!!python/name:os.system x: 1", "unknown-tag"),
    "106 UTF-16": ("id: a".encode("utf-16"), "not-utf8"),
    "106 UTF-32": ("id: a".encode("utf-32"), "not-utf8"),
    "106 UTF-16 without a mark": ("id: a".encode("utf-16-be"), "control-characters"),
    "106 NUL": (b"id: a\0b", "control-characters"),
    "106 bidi in an id": ("id: a\u202eb", "hidden-characters"),
    "106 bidi in an id, escaped": ('id: "a\\u202eb"', "hidden-characters"),
    "106 bidi in a comment": ("a: 1 # \u2066 deny \u2069", "hidden-characters"),
    "106 zero width in a key": ("de\u200bcide: allow", "hidden-characters"),
    "106 tags": ("description: hi\U000e0069\U000e0067", "hidden-characters"),
    "106 a line only YAML sees": ("# fine\u2028decide: allow", "control-characters"),
    "106 a line only YAML sees, CR": ("# fine\rdecide: allow", "control-characters"),
    "106 overlong NUL": (b"id: \xc0\x80", "not-utf8"),
    "106 surrogates": (b"id: \xed\xa0\x80", "not-utf8"),
    "107 two documents": ("rules: []\n---\nrules: []", "several-documents"),
    "107 a second empty document": ("a: 1\n---\n", "several-documents"),
    "bomb of aliases": (BOMB, "alias-bomb"),
    "bomb of merges": (MERGES, "alias-bomb"),
    "bomb of one long text": (f"a: &a {'x' * MANY}\nb: [{'*a,' * MANY}]", "alias-bomb"),
    "aliases without anchors": (f"[{'*a,' * MANY}]", "unknown-anchor"),
    "a key again and again": ("a: 1\n" * MANY, "too-many-faults"),
    "keys again": ("".join(f"k{i}: 1\n" for i in range(30_000)) * 2, "too-many-faults"),
    "tag after tag": (f"[{'!x a,' * MANY}]", "unknown-tag"),
    "a long tag": ("!" * FULL, "unknown-tag"),
    "a long number": (f"a: {'9' * MANY}", "number-too-long"),
    "a long hexadecimal number": (f"a: 0x{'f' * MANY}", "number-too-long"),
    "too many values": ("[" + "a," * (FULL // 2 - 2) + "]", "too-large"),
    "too many collections": ("[" + "[]," * (FULL // 3 - 2) + "]", "too-large"),
    "too many bytes": (b"a" * (FULL + 1), "too-large"),
    "anchor after anchor": ("&a " * MANY, "yaml-syntax"),
    "documents": ("---\n" * MANY, "several-documents"),
    "hidden characters on each line": ("\u202e\n" * MANY, "hidden-characters"),
    "hidden characters on one line": ("a: " + "\u202e" * MANY, "hidden-characters"),
    "one line of colons": (f"a: {'x: ' * MANY}", "yaml-syntax"),
    "one line of templates": (f"a: {'{{ x }} ' * MANY}", "yaml-syntax"),
    "one quote": ("'" * (FULL - 1), "yaml-syntax"),
}
ACCEPTED = {
    "105 on": ("on: no", {"on": "no"}),
    "105 a version": ("version: '1.10'", {"version": "1.10"}),
    "105 a time": ("at: 12:30:45", {"at": "12:30:45"}),
    "newlines": ("\n" * FULL, {}),
    "a comment": ("#" * FULL, {}),
    "many comments": ("#\n" * (FULL // 2), {}),
    "one text": ("a" * FULL, "a" * FULL),
}


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def encoded(source: str | bytes) -> bytes:
    return source if isinstance(source, bytes) else source.encode()


@pytest.mark.parametrize("name", REFUSED)
def test_f_hostile_file_is_refused_quickly(name) -> None:
    source, code = REFUSED[name]
    source = encoded(source)
    before, began = resident_bytes(), time.process_time()

    document = read(source, "f.yaml")
    shown = render(document.faults, {"f.yaml": document.text})
    taken = time.process_time() - began
    document.span(("a", 0, "b"))

    assert document.faults[0].code == code
    assert any(one.severity == "error" for one in document.faults)
    assert f"f.yaml:{document.faults[0].line}:{document.faults[0].column}: error[{code}]" in shown
    assert len(shown.splitlines()[0]) < 300
    assert taken < 3
    assert resident_bytes() - before < 64 * 1024 * 1024


@pytest.mark.parametrize("name", ACCEPTED)
def test_f_odd_but_honest_file_is_read(name) -> None:
    source, expected = ACCEPTED[name]
    began = time.process_time()

    document = read(encoded(source), "f.yaml")

    assert document.data == expected
    assert document.faults == []
    assert time.process_time() - began < 3


def test_f102_a_hundred_thousand_brackets_take_less_than_100_ms() -> None:
    began = time.process_time()

    [found] = read(b"[" * MANY, "f.yaml").faults

    assert found.code == "too-deep"
    assert time.process_time() - began < 0.5


def test_f105_a_version_can_be_had_as_written() -> None:
    assert read(b"version: 1.10", "f.yaml").source_text(("version",)) == "1.10"


def test_f98_both_places_of_a_duplicate_are_named() -> None:
    [found] = read(b"rules:\n- decide: allow\n  decide: deny\n", "f.yaml", allow_merge=False).faults

    assert (found.line, found.column) == (3, 3)
    assert "line 2, column 3" in found.message


def test_f_merge_keys_do_not_reach_a_policy() -> None:
    source = b"x-a: &a {decide: allow}\nrules: [{<<: *a, id: b, tools: ['*']}]\n"

    [found] = read(source, "p.yaml", allow_merge=False).faults

    assert found.code == "merge-key"
    assert read(source, "t.yaml").faults == []
