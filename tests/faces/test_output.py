import fcntl
import json
import os
import struct
import termios
from tempfile import TemporaryFile

import pytest

from toolrt.faces.output import Screen, columns, one_line, to_json, visible

HOSTILE = "\x1b[2J\x1b]0;pwn\x07 \x9b31m a\u202eb\u200bc\ufeff\U000e0041 \r"


def test_o3_nothing_that_acts_on_a_terminal_is_shown_raw():
    shown = visible(HOSTILE)

    assert all(char.isprintable() for char in shown)
    assert "\\x1b[2J\\x1b]0;pwn\\x07" in shown
    assert "a\\u202eb\\u200bc\\ufeff\\U000e0041" in shown


@pytest.mark.parametrize("text", ["plain", "tab\tand\nnewline", "東京 café 🙂", ""])
def test_o3_what_is_harmless_stays(text):
    assert visible(text) == text


def test_windows_line_ends_are_line_ends():
    assert visible("a\r\nb") == "a\nb"


def test_one_line_is_one_line():
    assert one_line(" a\n\n b\tc ") == "a b c"


def test_json_is_exact_and_harmless():
    made = to_json({"text": HOSTILE})

    assert json.loads(made) == {"text": HOSTILE}
    assert all(char.isprintable() for char in made)


def test_json_of_a_lone_surrogate_is_still_json(capsys):
    Screen(format="json").show({"text": "\udc80"}, str)

    assert json.loads(capsys.readouterr().out.encode("utf-8", "backslashreplace")) == {
        "text": "\udc80"
    }


def test_jsonl_gives_a_line_a_row(capsys):
    Screen(format="jsonl").show({"rows": 2}, str, [{"a": 1}, {"a": 2}])

    assert capsys.readouterr().out == '{"a": 1}\n{"a": 2}\n'


def test_jsonl_without_rows_is_one_line(capsys):
    Screen(format="jsonl").show({"a": [1, 2]}, str)

    assert capsys.readouterr().out == '{"a": [1, 2]}\n'


def test_quiet_keeps_errors(capsys):
    screen = Screen(is_quiet=True)
    screen.say("talk")
    screen.complain("error")

    assert capsys.readouterr().err == "error\n"


@pytest.mark.parametrize(
    ("color", "no_color", "has_color"),
    [
        ("auto", None, False),
        ("always", None, True),
        ("always", "1", True),
        ("never", None, False),
    ],
)
def test_colour_is_for_terminals_or_for_those_who_ask(monkeypatch, color, no_color, has_color):
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", no_color)

    assert Screen(color=color).has_color() is has_color


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_the_environment_takes_colour_off_a_terminal(monkeypatch, variable, value):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    on_terminal = Screen().has_color()
    monkeypatch.setenv(variable, value)

    assert (on_terminal, Screen().has_color()) == (True, False)


def test_a_terminal_has_an_edge_and_a_pipe_has_none(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    piped = Screen().width
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)

    assert Screen().width == 20
    assert piped > 100_000


def test_the_terminal_itself_knows_its_columns(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 33, 0, 0))
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "w") as terminal, TemporaryFile() as nowhere:
        assert columns(terminal) == 33
        assert columns(nowhere) == 80
