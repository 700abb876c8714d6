"""The page about telemetry tells of every metric and key, as they are."""

import re

import pages

from toolrt.manifest.project import CallLines, Telemetry
from toolrt.observe.metrics import CONTENT_TYPE, METRICS

PAGE = "telemetry.md"


def test_every_metric_is_told_as_it_is() -> None:
    told = {name: (kind, re.findall(r"\w+", labels)) for name, kind, labels, _ in _metrics()}

    assert told == {name: (one.kind, list(one.labels)) for name, one in METRICS.items()}


def test_the_page_says_of_each_metric_what_prometheus_is_told() -> None:
    told = {name: meaning for name, _, _, meaning in _metrics()}

    assert {name: f"{text[0].upper()}{text[1:]}." for name, text in told.items()} == {
        name: one.help for name, one in METRICS.items()
    }


def test_every_key_is_told_with_its_default() -> None:
    told = {key: default for key, default, _ in pages.rows(PAGE, "Metrics, traces and logs")}
    keys = {
        **{name: field.default for name, field in Telemetry.model_fields.items() if name != "logs"},
        **{f"logs.{name}": field.default for name, field in CallLines.model_fields.items()},
    }

    assert told == {key: str(default).lower() for key, default in keys.items()}


def test_what_to_ask_names_metrics_that_are_there() -> None:
    asked = " ".join(query for _, query in pages.rows(PAGE, "What to ask"))
    names = {word for word in asked.replace("(", " ").replace("[", " ").replace("{", " ").split()
             if word.startswith("toolrt_")}  # fmt: skip

    assert names - {"toolrt_call_duration_seconds_bucket"} <= METRICS.keys()


def test_the_type_of_the_page_is_told() -> None:
    assert CONTENT_TYPE.rpartition(";")[0] in pages.prose(PAGE)


def _metrics() -> list[list[str]]:
    return pages.rows(PAGE, "All metrics")
