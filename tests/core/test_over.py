"""What has ended before its time does not come back, however much has ended."""

import pytest

from toolrt.core.over import Over


def test_what_has_ended_is_over_and_nothing_else():
    over = Over(10)
    over.add("a", 100.0, 0.0)

    assert over.has("a", 100.0)
    assert not over.has("b", 100.0)


@pytest.mark.parametrize("spread", [0, 1])
def test_nothing_comes_back_and_no_more_is_kept_than_may_be(spread):
    over = Over(8)
    ended = [(f"n{number}", 1000.0 + spread * number) for number in range(200)]
    for name, until in ended:
        over.add(name, until, 0.0)

    assert all(over.has(name, until) for name, until in ended)
    assert len(over) <= 8


def test_what_would_have_ended_by_now_is_forgotten_first():
    over = Over(4)
    for number in range(4):
        over.add(f"old{number}", 10.0, 0.0)
    over.add("new", 100.0, 50.0)

    assert len(over) == 1
    assert not over.has("other", 60.0)
