"""What authors say about their tools: each text once, in the order of the tools (U25)."""

from dataclasses import dataclass

from toolrt.catalog.instructions import instructions, written


@dataclass
class Entry:
    instructions: str | None


def said(*pairs, of_all=None):
    return instructions([(name, Entry(text)) for name, text in pairs], of_all)


def test_u25_a_text_that_several_tools_share_is_told_once_in_the_order_of_the_first():
    found = said(("a", "Ask first."), ("b", None), ("c", "Be brief."), ("d", " Ask\n  first. "))

    assert written(found) == "a, d: Ask first.\nc: Be brief."
    assert [each.document() for each in found] == [
        {"tools": ["a", "d"], "text": "Ask first."},
        {"tools": ["c"], "text": "Be brief."},
    ]


def test_u25_what_is_said_of_all_comes_first():
    assert written(said(("a", "Ask."), of_all="Mail\nonly.")) == "Mail only.\na: Ask."


def test_u25_who_says_nothing_is_not_there():
    assert written(said(("a", None), ("b", "  "))) == ""
