import pytest

from toolrt.core.errors import CODES
from toolrt.core.results import Failure, ToolResult
from toolrt.faces.exits import MEANING, Exit, of_code, of_result


def test_every_status_has_a_meaning():
    assert set(MEANING) == set(Exit)


@pytest.mark.parametrize("code", CODES)
def test_every_code_of_a_failed_call_has_a_status(code):
    assert of_code(code) in Exit


def test_a_code_of_the_tools_author_is_the_tools_failure():
    assert of_code("out-of-stock") is Exit.TOOL_FAILED


@pytest.mark.parametrize(
    ("status", "failure", "exit_"),
    [
        ("success", None, Exit.OK),
        ("partial", None, Exit.OK),
        ("paused", None, Exit.PAUSED),
        ("error", Failure("timeout", "late"), Exit.TIMED_OUT),
        ("error", Failure("denied", "no"), Exit.DENIED),
        ("error", Failure("circuit-open", "no"), Exit.LIMITED),
        ("error", Failure("unknown-tool", "no"), Exit.NOT_FOUND),
    ],
)
def test_a_result_has_a_status(status, failure, exit_):
    assert of_result(ToolResult("id", "t", status, error=failure)) is exit_
