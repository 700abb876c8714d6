"""Records of the logs of toolrt, as handlers see them."""

import json
import logging

import pytest

from toolrt.core import logs
from toolrt.core.redaction import Redactor

SECRET = "s3cret-value"


@pytest.fixture(autouse=True)
def redactor():
    redactor = Redactor()
    redactor.learn(SECRET)
    redactor.learn("12345678")
    return redactor


@pytest.mark.parametrize("log", [logs.BUGS, logs.CALLS, logs.HTTP, logs.TOOLS])
def test_o1_no_log_tells_a_secret(caplog, log):
    with caplog.at_level(logging.INFO, log.name):
        log.info("%s and %s", SECRET, "amqp://bob:hunter2@mq/x")

    assert caplog.messages == ["*** and amqp://***/x"]


def test_o1_traceback_tells_no_secret_of_any_exception_of_its_chain(caplog):
    raised = RuntimeError("no database")
    raised.__cause__ = ValueError(f"cannot open postgresql://bob:hunter2@db/x with {SECRET}")
    logs.BUGS.error("a bug", exc_info=raised)
    shown = logging.Formatter().format(caplog.records[0])

    assert "postgresql://***/x with ***" in shown
    assert "hunter2" not in shown
    assert SECRET not in shown
    assert caplog.records[0].exc_info[1] is raised


@pytest.mark.parametrize(
    "line", [{"a": SECRET, "time": 112345678.5}, {SECRET: [1, "x"]}, {"a": "url amqp://b:c@d"}]
)
def test_o4_line_of_json_stays_one(caplog, line):
    with caplog.at_level(logging.INFO, "toolrt.http"):
        logs.HTTP.info("%s", json.dumps(line))

    shown = json.dumps(json.loads(caplog.messages[0]))
    assert "***" in shown
    assert SECRET not in shown


def test_what_only_looks_like_json_is_masked_as_text(caplog):
    with caplog.at_level(logging.INFO, "toolrt.tools"):
        logs.TOOLS.info("{not json: %s", SECRET)

    assert caplog.messages == ["{not json: ***"]


class _Silent:
    def __str__(self):
        raise RuntimeError("no word")


@pytest.mark.parametrize(("text", "args"), [("%d items", ("x",)), ("%s", ()), ("%s", (_Silent(),))])
def test_o4_record_that_cannot_be_formatted_does_not_fail_its_author(caplog, text, args):
    """As in any other log: what it meant to say is shown as far as that is possible."""
    with caplog.at_level(logging.INFO, "toolrt.tools"):
        logs.TOOLS.info(text, *args)
        logs.TOOLS.info(f"{SECRET} %d", "x")

        logs.TOOLS.info("%d", 5)

    assert [text in caplog.messages[0], "***" in caplog.messages[1]] == [True, True]
    assert caplog.records[2].args == (5,)
    assert SECRET not in caplog.text
