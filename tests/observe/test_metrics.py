"""The page of metrics is one that Prometheus reads, whatever the labels hold."""

import pytest
from prometheus_client import CONTENT_TYPE_LATEST
from prometheus_client.parser import text_string_to_metric_families

from toolrt.core.redaction import Redactor
from toolrt.observe.metrics import CONTENT_TYPE, METRICS, Distribution, Reading, page

TIMES = Distribution((0.1, 60.0), (1, 2, 3), 90.5)


def samples(text):
    """What Prometheus reads: name and labels -> value."""
    return {
        (each.name, *each.labels.items()): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }


def test_a_counter_a_gauge_and_a_histogram_are_read_back():
    text = page(
        [
            Reading("toolrt_calls_total", ("t", "success", "", "caller"), 3),
            Reading("toolrt_generation", (), 7),
            Reading("toolrt_call_duration_seconds", ("t", "success"), TIMES),
        ],
        str,
    )

    found = samples(text)
    assert sum(name == "toolrt_calls_total" for name, *_ in found) == 1
    assert found["toolrt_generation",] == 7
    assert [value for (name, *_), value in found.items() if name.endswith("_bucket")] == [1, 2, 3]
    assert "# TYPE toolrt_call_duration_seconds histogram" in text


@pytest.mark.parametrize("odd", ['"} 1\n# x', "\\", "\n", "ü\u2028", "", "x" * 10_000])
def test_o4_any_label_is_one_sample(odd):
    found = samples(page([Reading("toolrt_attempts_total", (odd,), 1)], str))

    assert found == {("toolrt_attempts_total", ("tool", odd)): 1}


def test_o1_secrets_in_labels_are_masked_and_what_is_the_same_then_is_one():
    redactor = Redactor()
    redactor.learn("s3cret-value")
    names = ["t.s3cret-value", "t.***"]
    readings = [Reading("toolrt_attempts_total", (name,), 2) for name in names]
    readings += [Reading("toolrt_call_duration_seconds", (name, "error"), TIMES) for name in names]

    text = page(readings, redactor.text)
    assert "s3cret" not in text
    found = samples(text)
    assert found["toolrt_attempts_total", ("tool", "t.***")] == 4
    assert [value for (name, *_), value in found.items() if name.endswith("_sum")] == [181]


def test_what_is_not_in_the_table_is_not_told():
    with pytest.raises(KeyError):
        page([Reading("toolrt_surprise", (), 1)], str)


def test_names_say_what_they_count():
    assert all(name.startswith("toolrt_") for name in METRICS)
    assert {name for name in METRICS if name.endswith("_total")} == {
        name for name, metric in METRICS.items() if metric.kind == "counter"
    }


def test_the_type_of_the_page_is_that_of_the_library():
    assert CONTENT_TYPE == CONTENT_TYPE_LATEST
