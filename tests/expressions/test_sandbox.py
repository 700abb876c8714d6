"""Templates with filters, conditions and loops."""

import subprocess
import sys

import pytest

from toolrt.core.errors import CallError, RefusedError
from toolrt.expressions.references import References
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.expressions.slots import HEADER, PATH_SEGMENT, QUERY, TEXT, XML
from toolrt.expressions.templates import Names, compile_template, compile_tree

ARGUMENTS = {"city": "São/Paulo", "days": 3, "tags": ["a b", 1, True], "flag": False}


def value(text, names, **arguments):
    return compile_template(text, TEXT, names).value(Scope({**ARGUMENTS, **arguments}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ city | upper }}", "SÃO/PAULO"),
        ("{{ city | lower }}", "são/paulo"),
        ("{{ ' x ' | trim }}", "x"),
        ("{{ 'xxaxx' | trim('x') }}", "a"),
        ("{{ city | replace('/', '-') }}", "São-Paulo"),
        ("{{ tags | join(', ') }}", "a b, 1, true"),
        ("{{ tags | length }}", 3),
        ("{{ tags | json }}", '["a b",1,true]'),
        ("{{ 'é' | b64encode }}", "w6k="),
        ("{{ 'w6k=' | b64decode }}", "é"),
        ("{{ note | default('none') }}", "none"),
        ("{{ '' | default('none', true) }}", "none"),
        ("{{ days + 1 }}", 4),
        ("{{ days * 2 - 1 }}", 5),
        ("{{ days // 2 }}", 1),
        ("{{ days % 2 }}", 1),
        ("{{ -days }}", -3),
        ("{{ days > 2 and not flag }}", True),
        ("{{ 'a b' in tags }}", True),
        ("{{ tags[0] }}", "a b"),
        ("{{ tags[0][:1] }}", "a"),
        ("{{ {'a': days} }}", {"a": 3}),
        ("{{ [days, flag] }}", [3, False]),
        ("{{ (days, [note if flag else 'x']) }}", [3, ["x"]]),
        ("{{ [days, flag] | length }}", 2),
        ("{{ days in (1, 3) }}", True),
        ("{{ days ~ flag ~ tags }}", '3false["a b",1,true]'),
        ("{{ 'yes' if flag else 'no' }}", "no"),
        ("{{ days is number }}", True),
        ("{{ note is defined }}", False),
        ("{{ none }}", None),
        ("{{ true }}", True),
    ],
)
def test_expression_keeps_the_type_of_its_value(names, text, expected):
    got = value(text, names)

    assert got == expected
    assert type(got) is type(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% if flag %}yes{% else %}no{% endif %}", "no"),
        ("{% for tag in tags %}{{ loop.index }}={{ tag }};{% endfor %}", "1=a b;2=1;3=true;"),
        ("{% for k, v in [['a', 1], ['b', 2]] %}{{ k }}={{ v }};{% endfor %}", "a=1;b=2;"),
        ("{% for tag in tags if tag is string %}{{ tag }}{{ loop.last }}{% endfor %}", "a btrue"),
        ("{% for tag in [] %}x{% else %}none{% endfor %}", "none"),
        ("x{{ '-v' if flag }}", "x"),
        ("x {{- ' y' }}", "x y"),
        ("{{ '{{' }}.Names}}", "{{.Names}}"),
        ("{% raw %}{{.Names}}{% endraw %}", "{{.Names}}"),
        ("{{ '$' }}{HOME}", "${HOME}"),
        ("{{ note or 'none' }}!", "none!"),
        ("{% if note %}{{ note }}{% endif %}.", "."),
        ("{{ note if note else 'none' }}.", "none."),
        ("{# no comment #}{{ days + 0 }}", "{# no comment #}3"),
        ("a\r\n{{ days + 0 }}\r\nb\n", "a\r\n3\r\nb\n"),
    ],
)
def test_text_is_put_together(names, text, expected):
    assert value(text, names) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{{ note | upper }}",
        "{{ note }}",
        "{{ city if note }}",
        "{{ city if flag }}",
        "{{ city if note == 'x' }}",
        "{{ note[0] }}",
        "{{ note.a.b }}",
        "{{ note + 1 }}",
        "{{ [note] }}",
        "{{ {'a': {'b': note}} }}",
        "{{ [note] | json }}",
    ],
)
def test_lone_expression_vanishes_with_its_optional_name(names, text):
    template = compile_template(text, HEADER, names)

    assert template.is_lone
    assert template.value(Scope(ARGUMENTS)) is ABSENT
    assert template.text(Scope(ARGUMENTS)) is ABSENT


def test_tree_drops_a_condition_that_does_not_hold(names):
    tree = compile_tree({"a": "{{ 1 if flag }}", "b": "{{ 1 if days }}"}, TEXT, names)

    assert tree.render(Scope(ARGUMENTS)) == {"b": 1}


def test_each_piece_is_escaped_by_the_slot(names):
    text = "/x/{{ city | lower }}/{% for t in tags %}{{ t }},{% endfor %}"

    assert compile_template(text, PATH_SEGMENT, names).text(Scope(ARGUMENTS)) == (
        "/x/s%C3%A3o%2Fpaulo/a%20b,1,true,"
    )
    assert compile_template("<a>{{ '<' ~ days }}</a>", XML, names).text(Scope(ARGUMENTS)) == (
        "<a>&lt;3</a>"
    )


@pytest.mark.parametrize("path", ["a/b c/d", ["a", "b c", "d"]])
def test_segments_are_encoded_one_by_one(names, path):
    template = compile_template("/x/{{ city | segments }}", PATH_SEGMENT, names)

    assert template.text(Scope({"city": path})) == "/x/a/b%20c/d"


@pytest.mark.parametrize("path", ["a/../b", "..", "a//b", "/a", "a/", "", ["a", "."], [""]])
def test_segments_stay_below_their_place(names, path):
    with pytest.raises(RefusedError, match="one segment"):
        compile_template("/x/{{ city | segments }}", PATH_SEGMENT, names).text(
            Scope({"city": path})
        )


def test_changed_segments_are_escaped_again(names):
    template = compile_template("{{ city | segments | upper }}", PATH_SEGMENT, names)

    assert template.text(Scope({"city": "a/b"})) == "A%2FB"


def test_segments_belong_into_a_path(names, faults):
    (fault,) = faults(lambda: compile_template("{{ city | segments }}", QUERY, names))

    assert (fault.code, fault.offset) == ("disallowed", 10)


def test_references_stand_between_expressions(names, tmp_path):
    references = References(tmp_path, {"TOKEN": "a/b", "OTHER": "{{ days }}"})
    scope = Scope(ARGUMENTS, references=references)
    template = compile_template(
        "${env:TOKEN}/{{ city | upper }}{% if days %}/${env:OTHER}{% endif %}", PATH_SEGMENT, names
    )

    assert template.text(scope) == "a%2Fb/S%C3%83O%2FPAULO/%7B%7B%20days%20%7D%7D"
    assert template.masked(scope) == "${env:TOKEN}/S%C3%83O%2FPAULO/${env:OTHER}"
    assert [each.name for each in template.references] == ["TOKEN", "OTHER"]


def test_absent_parts_of_an_answer_can_have_a_default():
    names = Names(roots=frozenset({"result"}))
    template = compile_template("{{ result.error.message | default('fine') }}!", TEXT, names)

    assert template.text(Scope(result={"error": None})) == "fine!"
    assert template.text(Scope(result={"error": {"message": "bad"}})) == "bad!"


def test_data_keys_are_no_methods():
    names = Names(roots=frozenset({"result"}))
    template = compile_template("{{ result.items | join(',') }}", TEXT, names)

    assert template.value(Scope(result={"items": [1, 2]})) == "1,2"


def test_underscored_keys_are_data():
    names = Names(roots=frozenset({"result"}))

    assert (
        compile_template("{{ result._id ~ '' }}", TEXT, names).value(Scope(result={"_id": 5}))
        == "5"
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{{ city + 1 }}", "invalid-arguments"),
        ("{{ days // 0 }}", "invalid-arguments"),
        ("{{ 'x' | b64decode }}", "invalid-arguments"),
        ("{{ days | length }}", "invalid-arguments"),
        ("{{ city.zip | upper }}", "invalid-arguments"),
        ("a {{ city.zip ~ '' }}", "invalid-arguments"),
        ("{{ caller.tenant | upper }}", "invalid-arguments"),
        ("{{ result.a | upper }}", "bad-response"),
        ("x {{ result.a | upper }}", "bad-response"),
    ],
)
def test_what_does_not_fit_is_refused_in_plain_words(names, invocation, text, code):
    names = Names(names.parameters, names.optional, names.roots | {"result"})
    invocation.arguments = ARGUMENTS
    scope = Scope.of(invocation, result={})

    with pytest.raises(CallError) as caught:
        compile_template(text, TEXT, names).text(scope)

    assert caught.value.code == code
    for word in ("Undefined", "jinja", "Error", "object", "Traceback"):
        assert word not in caught.value.message
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{{ ctiy | upper }}", [("unknown-name", 3)]),
        ("{{ city | uper }}", [("disallowed", 10)]),
        ("a\n{{ city |\n uper }}", [("disallowed", 13)]),
        ("{{ caller.tennant | upper }}", [("unknown-name", 10)]),
        ("é {{ note | upper }}", [("optional-in-text", 5)]),
        ("{% for loop in tags %}{% endfor %}", [("disallowed", 3)]),
        ("x {{ note and city }}", [("optional-in-text", 5)]),
        ("x {% for t in note %}{{ t }}{% endfor %}", [("optional-in-text", 14)]),
        ("{{ city | trim(1, 2) }}", [("disallowed", 10)]),
        ("{{ city is iterable }}", [("disallowed", 8)]),
        ("{{ city | default('${env:A}') }}", [("disallowed", 18)]),
        ("{{ city | upper }} ${X}", [("bad-reference", 19)]),
        ("{{ city | upper }} ${env:X", [("bad-reference", 19)]),
        ("{{ city }", [("invalid-template", 8)]),
        ("{{ a b }}", [("invalid-template", 5)]),
        ("{{.Names}}", [("invalid-template", 2)]),
        ("{{ city ! }}", [("invalid-template", 8)]),
        ("{{ }}", [("invalid-template", 3)]),
        ("{% if flag %}x", [("invalid-template", 13)]),
        ("x {% endif %}", [("invalid-template", 5)]),
        ("{{ ctiy ~ dais }}", [("unknown-name", 3), ("unknown-name", 10)]),
        (
            "a  {%- if ctiy -%}  b {{ dais+1 }}{% endif %}",
            [("unknown-name", 10), ("unknown-name", 25)],
        ),
        ("a\r\n{{ dais + 1 }}", [("unknown-name", 6)]),
    ],
)
def test_every_fault_is_found_at_its_character(names, faults, text, found):
    got = faults(lambda: compile_template(text, TEXT, names))

    assert [(fault.code, fault.offset) for fault in got] == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ city", "`{{` is never closed"),
        ("{% if flag %}", "`{% if %}` is never closed"),
        ("{% endfor %}", "`{% endfor %}` closes nothing"),
        ("{{ a b }}", "unexpected `b`"),
        ("{{ city + }}", "the expression ends too early"),
        ("{{ city @ }}", "unexpected `@`"),
    ],
)
def test_syntax_errors_are_in_plain_words(names, faults, text, message):
    (fault,) = faults(lambda: compile_template(text, TEXT, names))

    assert fault.message == message


@pytest.mark.parametrize(
    "text",
    [
        "x{{ 'v' if note }}",
        "x{{ note | default('v') }}",
        "x{{ note or 'v' }}",
        "x{% if note %}{{ note }}{% endif %}",
        "x{{ note if note is defined else '' }}",
    ],
)
def test_optional_name_that_was_asked_about_may_stand_in_a_text(names, faults, text):
    assert not faults(lambda: compile_template(text, TEXT, names))
    assert str(value(text, names)).startswith("x")


def test_plain_templates_do_not_load_the_engine():
    code = (
        "import sys;"
        "from toolrt.expressions.templates import *;"
        "from toolrt.expressions.slots import TEXT;"
        "import toolrt.expressions.conditions, toolrt.expressions.select;"
        "compile_template('{{ a }} x {{ b.c }}', TEXT, Names(frozenset('ab')));"
        "print({'jinja2', 'jmespath', 'cel_expr_python'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "set()"
