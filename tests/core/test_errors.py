import pytest

from toolrt.core.errors import ToolError


@pytest.mark.parametrize("code", ["sold-out", "denied", "x", "http-404"])
def test_an_author_chooses_a_kebab_case_code(code):
    assert ToolError("no", code=code).code == code


@pytest.mark.parametrize(
    "code", ["", "Sold out", "a\nb", "a\x1b[2J", "a-", "-a", "a--b", "é", "x" * 65, 404, None]
)
def test_what_is_no_code_does_not_become_one(code):
    assert ToolError("no", code=code).code == "execution-failed"


def test_message_and_hint_are_texts_whatever_was_raised():
    error = ToolError(ValueError("no seats"), hint=7)

    assert (error.message, error.hint, ToolError("x").hint) == ("no seats", "7", None)
