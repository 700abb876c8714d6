"""X2: what a tool is called where no dot may be written."""

import re

from hypothesis import given
from hypothesis import strategies as st

from toolrt.dialects.names import LONGEST_MCP, WireNames, wire_name

NAME = st.from_regex(r"[a-z][a-z0-9_]{0,90}(\.[A-Za-z0-9_-]{1,90})?", fullmatch=True)


def test_x2_the_dot_becomes_an_underscore():
    assert wire_name("files.size") == "files_size"


def test_x2_a_long_name_is_cut_and_ends_in_a_hash_of_all_of_it():
    one, other = f"a.{'b' * 80}x", f"a.{'b' * 80}y"

    assert len(wire_name(one)) == 64
    assert wire_name(one)[:50] == wire_name(other)[:50]
    assert wire_name(one) != wire_name(other)
    assert wire_name(one, LONGEST_MCP) == one.replace(".", "_")


@given(st.lists(NAME, unique_by=lambda name: name.replace(".", "_"), max_size=8))
def test_x2_every_name_fits_every_vendor_and_comes_back(names):
    table = WireNames(names)

    assert all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", table.wire(name)) for name in names)
    assert [table.own(table.wire(name)) for name in names] == names


def test_a_name_that_no_tool_has_stays_for_the_gateway_to_refuse():
    assert WireNames(["files.size"]).own("files_sise") == "files_sise"


def test_a_tool_that_is_not_in_the_table_is_as_unknown_as_none():
    assert WireNames([]).own("files_size") == "files_size"


def test_texts_name_tools_as_the_model_knows_them():
    table = WireNames(["files.size"])

    assert table.told("did you mean `files.size`?") == "did you mean `files_size`?"
    assert table.told("see `toolrt.yaml` and files.size") == "see `toolrt.yaml` and files.size"
