import io
import json
from pathlib import Path

import click
import pytest

from toolrt.core.errors import RefusedError
from toolrt.faces.cli.arguments import gather

SCHEMA = {
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "maybe": {"type": ["integer", "null"]},
        "loud": {"type": "boolean"},
        "tags": {"type": "array"},
        "where": {"type": "object"},
        "level": {"enum": [1, 2]},
        "any": {},
        "mixed": {"type": ["string", "integer"]},
    }
}


def args(*tokens, json_text=None):
    return gather(tokens, json_text, SCHEMA)


@pytest.mark.parametrize(
    ("token", "value"),
    [
        ("text=5", "5"),
        ("text=true", "true"),
        ("text=", ""),
        ("text=a=b", "a=b"),
        ("text=a:=b", "a:=b"),
        ("text= x ", " x "),
        ("text=a\nb", "a\nb"),
        ("count=5", 5),
        ("count=-5", -5),
        ("count=007", "007"),
        ("count=1.5", "1.5"),
        ("count=five", "five"),
        ("count=9007199254740993", 9007199254740993),
        ("ratio=1e3", 1000.0),
        ("ratio=2", 2),
        ("maybe=3", 3),
        ("maybe=null", "null"),
        ("loud=true", True),
        ("loud=1", "1"),
        ("level=2", 2),
        ("any=5", "5"),
        ("mixed=5", "5"),
        ("other=5", "5"),
        ("text:=5", 5),
        ("maybe:=null", None),
        ('tags:=["a"]', ["a"]),
        ('text:="@x"', "@x"),
        ("a.b=1", "1"),
    ],
)
def test_a_token_is_a_value(token, value):
    [(name, given)] = args(token).items()

    assert given == value
    assert type(given) is type(value)
    assert token.startswith(name)


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["oslo"], "`oslo` is not an argument; write key=text"),
        (['{"a": 1}'], "a JSON object goes with --json: --json '{\"a\": 1}'"),
        (["=5"], "is not an argument"),
        (["count:=five"], "`count:=five` is not JSON: expecting value at line 1, column 1; "),
        (["count:=five"], "`count` takes an integer, such as count=1"),
        (["count:=["], "is not JSON: the JSON ends too early; "),
        (["text:=hello"], "for text write text=hello or text:='\"hello\"'"),
        (["tags=a,b"], '`tags` takes a list; write tags:=\'["a", "b"]\''),
        (["where=x"], "`where` takes an object"),
        (["text=a", "text=b"], "`text` is given twice: by text=a and by text=b"),
        (["text=@absent.txt"], "`text=@absent.txt`: No such file or directory"),
        (["text=@absent.txt"], "for text that starts with @ write text:='\"@absent.txt\"'"),
        (["text=@"], "names no file"),
        (["@absent.json"], "No such file or directory"),
    ],
)
def test_a_bad_token_says_how_it_should_look(tokens, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(click.UsageError) as caught:
        args(*tokens)
    hint = getattr(caught.value, "hint", None)

    assert said in f"{caught.value.message}; {hint}"


def test_a_long_token_is_told_in_short():
    with pytest.raises(click.UsageError) as caught:
        args("x" * 10_000)

    assert len(caught.value.message) < 200


def test_a_value_comes_from_a_file(tmp_path):
    (tmp_path / "note.txt").write_text("line\n")
    (tmp_path / "tags.json").write_text('["a"]')

    given = args(f"text=@{tmp_path}/note.txt", f"tags:=@{tmp_path}/tags.json")

    assert given == {"text": "line\n", "tags": ["a"]}


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")

    with pytest.raises(click.UsageError, match="not UTF-8"):
        args(f"text=@{tmp_path}/bytes")


def test_all_sources_merge(tmp_path, monkeypatch):
    (tmp_path / "args.json").write_text('{"count": 1}')
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"loud": true}')))

    given = args("-", f"@{tmp_path}/args.json", "text=x", json_text='{"ratio": 0.5}')

    assert given == {"ratio": 0.5, "loud": True, "count": 1, "text": "x"}


def test_a_key_of_two_sources_is_an_error(tmp_path):
    (tmp_path / "args.json").write_text('{"count": 1}')

    with pytest.raises(click.UsageError, match="`count` is given twice: by @"):
        args(f"@{tmp_path}/args.json", "count=2")


@pytest.mark.parametrize("text", ["[1]", '"a"', "null", "5", "{", "", '{"a": 1, "a": 2}', "NaN"])
def test_arguments_are_one_json_object(text):
    with pytest.raises(RefusedError) as caught:
        args(json_text=text)

    assert caught.value.code == "invalid-arguments"


def test_what_never_ends_is_not_read_to_its_end(monkeypatch):
    with Path("/dev/zero").open() as endless:
        monkeypatch.setattr("sys.stdin", endless)

        with pytest.raises(RefusedError, match="larger than"):
            args("-")
    with pytest.raises(click.UsageError, match="larger than"):
        args("text=@/dev/zero")


def test_hostile_names_are_names():
    given = args(json_text=json.dumps({"__class__": 1, "$ref": 2}))

    assert given == {"__class__": 1, "$ref": 2}


@pytest.mark.parametrize(
    ("text", "right"), [("yes", "true"), ("No", "false"), ("True", "true"), ("off", "false")]
)
def test_a_boolean_that_is_spelt_otherwise_is_told_how(text, right):
    with pytest.raises(click.UsageError) as caught:
        gather([f"a={text}"], None, {"properties": {"a": {"type": "boolean"}}})

    assert caught.value.message == f"`a` is true or false, not `{text}`"
    assert caught.value.hint == f"write a={right}"
