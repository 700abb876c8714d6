"""Every hostile case through the real command line, in front of a real project and server."""

import pytest

from tests.hostile.cases import CASES, OUTCOMES
from tests.hostile.door import assert_as_told, assert_harmless, opened
from toolrt.core.errors import CODES


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("world")) as door:
        yield door


def by_id(cases):
    return pytest.mark.parametrize("case", cases, ids=[ascii(case.id) for case in cases])


@by_id(CASES)
def test_a_hostile_call_comes_to_what_it_must(door, case):
    assert_as_told(case, door.run(case, "-o", "json"), door.server)
    assert_harmless(door.run(case))
