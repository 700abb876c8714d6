"""Class F, templates: what reaches for the interpreter or for memory is refused or capped."""

import time

import pytest

from tests.limits import Memory
from toolrt.core.errors import ToolrtError
from toolrt.core.faults import FaultError
from toolrt.expressions.scope import Scope
from toolrt.expressions.slots import TEXT
from toolrt.expressions.templates import Names, compile_template

NAMES = Names(frozenset({"x", "tags"}), roots=frozenset({"caller", "call", "vars", "result"}))

REFUSED = {
    "110 globals of a helper": "{{ cycler.__init__.__globals__ }}",
    "110 class of a text": "{{ ''.__class__.__mro__ }}",
    "110 class by item": "{{ x | attr('__class__') }}",
    "110 the template itself": "{{ self }}",
    "110 methods": "{{ x.format(1) }}",
    "110 calls on data": "{{ tags.append(1) }}",
    "110 functions": "{{ range(1000000000) | length }}",
    "110 mutation": "{{ vars.update(a=1) }}",
    "110 includes": "{% include '/etc/passwd' %}",
    "110 imports": "{% import 'os' as os %}",
    "110 inheritance": "{% extends 'base' %}",
    "110 macros": "{% macro a() %}{% endmacro %}",
    "110 assignment": "{% set a = x %}",
    "110 filter blocks": "{% filter upper %}x{% endfilter %}",
    "110 call blocks": "{% call x() %}{% endcall %}",
    "110 loop methods": "{% for t in tags %}{{ loop.cycle }}{% endfor %}",
    "111 format": "{{ '%1000000000d' | format(1) }}",
    "111 power": "{{ 9 ** 9 ** 9 }}",
    "111 nested loops": "{% for a in tags %}{% for b in tags %}x{% endfor %}{% endfor %}",
    "111 recursive loop": "{% for a in tags recursive %}x{% endfor %}",
    "111 padding": "{{ x | center(1000000000) }}",
    "111 indentation": "{{ x | indent(1000000000) }}",
    "111 nesting": "{{ " + "(" * 20_000 + "x" + ")" * 20_000 + " }}",
    "111 long number": "{{ " + "9" * 5000 + " }}",
    "111 infinity": "{{ 1e999 }}",
    "111 chain": "{{ x" + " + x" * 200 + " }}",
    "111 length": "{{ x" + " + x" * 200_000 + " }}",
}

CAPPED = {
    "111 repeated text": "{{ 'a' * 10 * 1000000000 }}",
    "111 repeated value": "{{ x * 1000000000 }}",
    "111 repeated list": "{{ tags * 1000000000 }}",
    "111 numbers": "{{ " + " * ".join(["99999999999999999999"] * 30) + " }}",
    "111 percent": "{{ '%1000000000d' % 1 }}",
    "111 percent of a value": "{{ x % 1 }}",
    "111 replaced": "{{ x | replace('a', x) | replace('a', x) }}",
    "111 replaced nothing": "{{ x | replace('', x) }}",
    "111 joined": "{{ tags | join(x) }}",
    "111 loop of large pieces": "{% for t in tags %}{{ x }}{% endfor %}",
    "111 loop of small pieces": "{% for t in tags %}{{ x | upper | length }}{% endfor %}",
    "111 silent loop": "{% for t in tags if t == x | upper %}{% endfor %}",
    "111 division": "{{ 1 // 0 }}",
}

HOSTILE = {"x": "a" * 100_000, "tags": ["t"] * 100_000}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_f110_template_is_refused_at_load(text):
    started = time.process_time()

    with pytest.raises(FaultError) as caught:
        compile_template(text, TEXT, NAMES)

    assert time.process_time() - started < 2
    assert all(fault.offset is not None for fault in caught.value.faults)
    assert len(caught.value.faults) <= 2


@pytest.mark.parametrize("text", CAPPED.values(), ids=CAPPED)
def test_f111_template_is_capped_when_it_runs(text):
    template = compile_template(text, TEXT, NAMES)
    with pytest.raises(ToolrtError):
        template.text(Scope({"x": "a", "tags": []}) if "1000" in text else Scope(HOSTILE))
    memory = Memory()
    started = time.process_time()

    with pytest.raises(ToolrtError) as caught:
        template.text(Scope(HOSTILE))

    assert time.process_time() - started < 2
    assert memory.grown() < 64 * 1024 * 1024
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "value",
    [
        "{{ 7 * 7 }}",
        "{% for x in y %}",
        "${env:HOME}",
        "{{ cycler.__init__.__globals__ }}",
        "\r\n{{",
        "\x00\x01\x01 {{ x }} \x02\x02",
    ],
)
@pytest.mark.parametrize(
    "text", ["{{ x }}", "-{{ x }}-", "{{ x ~ '' }}", "{% if x %}{{ x }}{% endif %}"]
)
def test_t1_values_are_literal(text, value):
    made = compile_template(text, TEXT, NAMES).text(Scope({"x": value}))

    assert str(made).strip("-") == value


def test_97_keys_that_look_like_attributes_are_data():
    names = Names(roots=frozenset({"result"}))
    result = {"keys": 1, "constructor": 2, "$ref": 3}

    for key in ("keys", "constructor"):
        made = compile_template(f"{{{{ result.{key} ~ '' }}}}", TEXT, names).text(
            Scope(result=result)
        )
        assert made == str(result[key])


def test_objects_of_python_tools_show_no_attributes():
    class Leaky:
        secret = "hunter2"

        def __str__(self):
            return "shown"

    names = Names(roots=frozenset({"result"}))
    for text in (
        "{{ result.secret }}",
        "{{ result['secret'] }}",
        "{{ result.secret | default('no') }}",
    ):
        made = compile_template(text, TEXT, names).value(Scope(result=Leaky()))
        assert made != "hunter2"
