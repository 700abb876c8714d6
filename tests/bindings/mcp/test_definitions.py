"""What servers list is bounded before anybody looks closer, and nothing vanishes unsaid."""

from toolrt.bindings.mcp.definitions import MOST_TOOLS, Gathered, is_deeper, listing_of

OBJECT = {"type": "object"}


def deep(levels):
    made = {"type": "string"}
    for _ in range(levels):
        made = {"type": "object", "properties": {"x": made}}
    return made


def problems(*raw):
    return [each.problem for each in listing_of(raw).tools]


def test_r6_a_definition_that_is_too_deep_is_kept_by_name_with_the_reason():
    [found] = listing_of([{"name": "a", "inputSchema": deep(100)}]).tools

    assert found.name == "a"
    assert "deeper" in (found.problem or "")
    assert found.written == {}


def test_r6_a_definition_that_is_too_large_is_not_used():
    text = "x" * 300_000
    assert "larger" in (
        problems({"name": "a", "description": text, "inputSchema": OBJECT})[0] or ""
    )


def test_what_is_no_tool_is_told():
    found = problems(7, {}, {"name": ""}, {"name": "a"}, {"name": "a", "inputSchema": []})

    assert all(found)


def test_what_no_json_can_hold_is_told():
    for odd in (float("inf"), float("nan"), "\ud800"):
        [found] = listing_of(
            [{"name": "a", "inputSchema": {"type": "object", "default": odd}}]
        ).tools

        assert "no JSON" in (found.problem or "")


def test_a_name_that_is_too_long_is_cut_where_it_is_told():
    [found] = listing_of([{"name": "a" * 9000, "inputSchema": OBJECT}]).tools

    assert len(found.name) < 50
    assert found.problem


def test_tools_beyond_the_bound_are_counted():
    listing = listing_of([{"name": f"t{n}", "inputSchema": OBJECT} for n in range(MOST_TOOLS + 3)])

    assert len(listing.tools) == MOST_TOOLS
    assert listing.left_out == 3


def test_a_chain_of_a_hundred_thousand_levels_is_measured_without_recursion():
    made = []
    for _ in range(100_000):
        made = [made]

    assert is_deeper(made, 48)
    assert not is_deeper([[1], {"a": [2]}], 48)


def test_r6_all_that_one_server_says_is_bounded_together():
    page = listing_of([{"name": "a", "description": "x" * 200_000, "inputSchema": {}}] * 30)
    gathered = Gathered()
    for _ in range(10):
        gathered.take(page)

    assert gathered.size <= 16 * 1024**2
    assert len(gathered.tools) + gathered.listing().left_out == 300
