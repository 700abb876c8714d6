"""Which tools models are told of where there are many (R9), and what is odd in saying so."""

import pytest

from toolrt.runtime import load
from toolrt.testing import write_files

TOOLS = """
namespace: shop
tools:
  pay: {description: Pay., effect: read, command: [echo]}
  find: {description: Find., effect: read, command: [echo]}
"""
BOTH = "builtins: [search_tools, call_tool]\n"


def found(folder, project, tools=TOOLS):
    """What is found in `toolrt.yaml`: code, severity, message."""
    made = load(write_files(folder, {"toolrt.yaml": project, "tools.d/t.yaml": tools}))
    return [
        (each.code, each.severity, each.message)
        for each in made.diagnostics
        if each.file == "toolrt.yaml"
    ]


@pytest.mark.parametrize(
    ("builtins", "lacks"),
    [
        ("", "`search_tools` and `call_tool` are"),
        ("builtins: [search_tools]\n", "`call_tool` is"),
        ("builtins: [call_tool, get_user_input]\n", "`search_tools` is"),
    ],
)
@pytest.mark.parametrize("max_told", [1, 30])
def test_r9_tools_that_models_could_never_find_are_told(folder, builtins, lacks, max_told):
    [(code, severity, message)] = found(folder, f"{builtins}retrieval: {{max_told: {max_told}}}\n")

    assert (code, severity) == ("unfound-tools", "warning")
    assert f"{lacks} not among `builtins`" in message


def test_r9_nothing_is_odd_where_models_can_find_and_call_the_others(folder):
    project = f"{BOTH}retrieval: {{max_told: 1, always: ['shop.pay', 'shop.f*', 'call_*']}}\n"

    assert found(folder, project) == []


def test_r9_models_that_are_told_of_all_have_nothing_to_find(folder):
    inner = "  inner: {description: I., effect: read, expose: false, command: [echo]}\n"
    project = "retrieval: {max_told: 1, always: [shop.pay, shop.find]}\n"

    assert found(folder, project, TOOLS + inner) == []
    assert found(folder, "retrieval: {max_told: 1, always: ['shop.*']}\n") == []
    assert found(folder, "retrieval: {k: 3}\n") == []


@pytest.mark.parametrize("name", ["shop.buy", "shpo.*", "pay@3"])
def test_r9_a_pattern_of_always_that_fits_nothing_is_told(folder, name):
    project = f"{BOTH}retrieval: {{max_told: 1, always: ['{name}', shop.pay]}}\n"

    [(code, severity, message)] = found(folder, project)

    assert (code, severity) == ("no-such-tool", "warning")
    assert f"`{name}` is no tool of this project" in message


def test_r9_a_tool_with_errors_is_known_by_its_name(folder):
    tools = TOOLS + "  ill: {description: Ill., effect: read, command: [echo, '{{ nothing }}']}\n"

    assert found(folder, f"{BOTH}retrieval: {{max_told: 1, always: [shop.ill]}}\n", tools) == []
