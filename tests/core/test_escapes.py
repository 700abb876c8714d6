import pytest

from toolrt.core.escapes import Places, unescaped


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("", ""),
        ("plain", "plain"),
        ("100% & more \\ ", "100% & more \\ "),
        ("a%20b%C3%A9", "a bé"),
        ("%ff", "ÿ"),
        (r"\u0041\n\"\\", 'A\n"\\'),
        (r"\ud83d\ude00", "\U0001f600"),
        (r"\x41\xc3\xa9", "Aé"),
        (r"\101\303\251", "Aé"),
        (r"\U0001f600\u{1f600}", "\U0001f600\U0001f600"),
        (r"\u{ffffff}", r"\u{ffffff}"),
        ("&lt;&#65;&#x41;&apos;&xyz;", "<AA'&xyz;"),
        ("%5Cn", r"\n"),
    ],
)
def test_one_layer_of_escapes_is_undone(text, plain):
    assert unescaped(text) == plain


@pytest.mark.parametrize(
    ("text", "part", "spelled"),
    [
        ("ab%63d", "bcd", "b%63d"),
        ("ab%63%64e", "d", "%63%64"),
        (r"x\u0041y", "A", r"\u0041"),
        ("a&amp;b", "b", "b"),
        ("a&amp;b", "a", "a"),
        ("%41", "A", "%41"),
    ],
)
def test_places_are_those_in_the_spelled_text(text, part, spelled):
    at = unescaped(text).index(part)
    begin, end = Places(text).span((at, at + len(part)))

    assert text[begin:end] == spelled
