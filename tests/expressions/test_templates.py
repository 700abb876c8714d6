"""Plain templates: names and references, absence, and the exact place of every fault."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolrt.core.errors import CallError, RefusedError
from toolrt.expressions.references import References
from toolrt.expressions.scope import ABSENT, Scope
from toolrt.expressions.slots import HEADER, PATH_SEGMENT, QUERY, TEXT
from toolrt.expressions.templates import Names, Template, compile_template, compile_tree

ARGUMENTS = {
    "city": "São/Paulo",
    "days": 3,
    "tags": ["a", "b"],
    "flag": False,
    "address": {"zip": "10"},
}


def scope(tmp_path, **arguments):
    references = References(tmp_path, {"TOKEN": "s3cret-value", "LINE": "a\nb"})
    return Scope({**ARGUMENTS, **arguments}, references=references)


@pytest.mark.parametrize(
    "text", ["", "plain", "{}", '{"a": {"b": 1}}', "awk '{print $1}'", "%{http_code}", "}} $x"]
)
def test_text_without_names_is_a_constant_as_it_stands(names, text):
    template = compile_template(text, PATH_SEGMENT, names)

    assert template.is_constant
    assert template.text(Scope()) == template.value(Scope()) == text


def test_text_escapes_values_but_not_what_the_manifest_says(names, tmp_path):
    template = compile_template("/é/{{ city }}/{{days}}?x", PATH_SEGMENT, names)

    assert template.text(scope(tmp_path)) == "/é/S%C3%A3o%2FPaulo/3?x"
    assert template.parameters == {"city", "days"}
    assert not template.is_lone


@pytest.mark.parametrize("text", ["{{ tags }}", "{{tags}}", "{{  tags\n}}"])
def test_lone_name_keeps_its_type(names, tmp_path, text):
    template = compile_template(text, QUERY, names)

    assert template.is_lone
    assert template.value(scope(tmp_path)) == ["a", "b"]
    assert template.text(scope(tmp_path)) == "%5B%22a%22%2C%22b%22%5D"


@pytest.mark.parametrize("text", [" {{ days }}", "{{ days }}\n", "{{ days }}{{ days }}"])
def test_anything_beside_the_name_makes_it_text(names, tmp_path, text):
    template = compile_template(text, TEXT, names)

    assert not template.is_lone
    assert template.value(scope(tmp_path)) == text.replace("{{ days }}", "3")


def test_lone_name_vanishes_when_it_was_not_given(names):
    template = compile_template("{{ note }}", HEADER, names)

    assert template.text(Scope()) is ABSENT
    assert template.value(Scope()) is ABSENT
    assert template.masked(Scope()) is ABSENT
    assert template.value(Scope({"note": ""})) == ""
    assert template.value(Scope({"note": None})) is None


def test_keys_are_read_and_never_attributes(names, tmp_path):
    template = compile_template("{{ address.zip }}", TEXT, names)
    assert template.value(scope(tmp_path)) == "10"
    assert template.value(scope(tmp_path, address={})) is ABSENT
    assert template.value(scope(tmp_path, address="text")) is ABSENT

    items = compile_template("{{ address.items }}", TEXT, names)
    assert items.value(scope(tmp_path)) is ABSENT
    assert items.value(scope(tmp_path, address={"items": [1]})) == [1]


def test_required_value_that_is_missing_is_the_arguments_fault(names):
    template = compile_template("zip {{ address.zip }}", TEXT, names)

    with pytest.raises(RefusedError, match=r"`address\.zip` has no value") as caught:
        template.text(Scope({"address": {}}))
    assert caught.value.code == "invalid-arguments"


def test_missing_part_of_an_answer_is_the_answers_fault():
    names = Names(roots=frozenset({"result"}))

    with pytest.raises(CallError, match=r"`result\.temp`") as caught:
        compile_template("t {{ result.temp }}", TEXT, names).text(Scope(result={}))
    assert caught.value.code == "bad-response"


def test_caller_without_tenant_is_told_apart_from_bad_arguments(names, invocation):
    template = compile_template("for {{ caller.tenant }}", TEXT, names)

    with pytest.raises(RefusedError) as caught:
        template.text(Scope.of(invocation))
    assert caught.value.code == "access-denied"


def test_reference_is_resolved_late_and_shown_as_written(names, tmp_path):
    template = compile_template("Bearer ${env:TOKEN} for {{ days }}", HEADER, names)

    assert template.text(scope(tmp_path)) == "Bearer s3cret-value for 3"
    assert template.masked(scope(tmp_path)) == "Bearer ${env:TOKEN} for 3"
    assert [each.name for each in template.references] == ["TOKEN"]
    assert "s3cret" not in repr(template)


def test_reference_is_escaped_like_any_value_and_refused_without_being_shown(names, tmp_path):
    assert compile_template("${env:LINE}", QUERY, names).text(scope(tmp_path)) == "a%0Ab"

    with pytest.raises(CallError, match=r"\$\{env:LINE\}") as caught:
        compile_template("x ${env:LINE}", HEADER, names).text(scope(tmp_path))
    assert caught.value.code == "missing-credential"
    assert "a\nb" not in str(caught.value)


def test_dollar_before_a_name_is_a_dollar(names, tmp_path):
    assert compile_template("${{ days }}", TEXT, names).text(scope(tmp_path)) == "$3"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{{ ctiy }}", [("unknown-name", 3, "did you mean `city`?")]),
        ("a {{ city }} {{ dais }}", [("unknown-name", 16, "did you mean `days`?")]),
        ("é🙂 {{ dais }}", [("unknown-name", 6, "did you mean `days`?")]),
        ("{{ caller.tennant }}", [("unknown-name", 10, "did you mean `caller.tenant`?")]),
        ("{{ call.when }}", [("unknown-name", 8, "known: `call.id`, `call.time`")]),
        ("{{ result }}", [("unknown-name", 3, None)]),
        ("x {{ note }}", [("optional-in-text", 5, "*")]),
        ("${TOKEN}", [("bad-reference", 0, "write ${env:TOKEN}")]),
        ("a ${env:TOKEN", [("bad-reference", 2, "*")]),
        (
            "{{ ctiy }} ${X} {{ note }} ${y:z} ${",
            [
                ("unknown-name", 3, "did you mean `city`?"),
                ("bad-reference", 11, "write ${env:X}"),
                ("optional-in-text", 19, "*"),
                ("bad-reference", 29, "there are env, file, secret, caller, tenant"),
                ("bad-reference", 34, "*"),
            ],
        ),
    ],
)
def test_every_fault_is_found_at_its_character(names, faults, text, found):
    got = faults(lambda: compile_template(text, TEXT, names))

    assert [(fault.code, fault.offset) for fault in got] == [each[:2] for each in found]
    for fault, (_, _, hint) in zip(got, found, strict=True):
        assert hint in {"*", fault.hint}


def test_optional_name_in_a_text_says_what_to_write(names, faults):
    (fault,) = faults(lambda: compile_template("x {{ note }}", TEXT, names))

    assert '{{ note | default("…") }}' in (fault.hint or "")


def test_known_keys_of_vars_are_checked(faults):
    names = Names(known_keys={"vars": frozenset({"region"})})

    assert not faults(lambda: compile_template("{{ vars.region }}", TEXT, names))
    (fault,) = faults(lambda: compile_template("{{ vars.regoin }}", TEXT, names))
    assert fault.hint == "did you mean `vars.region`?"


@given(st.text())
def test_t1_value_is_never_rendered_again(value):
    text = f"{{{{ days }}}} ${{env:TOKEN}} {{% x %}} {value}"
    names = Names(frozenset({"city"}))

    assert compile_template("{{ city }}", TEXT, names).value(Scope({"city": text})) == text
    assert compile_template("<{{ city }}>", TEXT, names).text(Scope({"city": text})) == f"<{text}>"


def test_t1_secret_is_never_rendered_again(names, tmp_path):
    references = References(tmp_path, {"A": "{{ days }} ${env:B}", "B": "b"})
    template = compile_template("${env:A}", TEXT, names)

    assert template.text(Scope(ARGUMENTS, references=references)) == "{{ days }} ${env:B}"


def test_t3_joined_text_is_capped(names):
    template = compile_template("{{ city }}{{ city }}", TEXT, names)

    assert len(str(template.text(Scope({"city": "x" * 500_000})))) == 1_000_000
    with pytest.raises(RefusedError, match="1 MiB"):
        template.text(Scope({"city": "x" * 600_000}))


def test_constant_is_no_template(names):
    template = Template.constant("{{ city }} ${x}")

    assert template.text(Scope()) == "{{ city }} ${x}"
    assert not template.parameters


def test_tree_keeps_types_and_drops_what_was_not_given(names, tmp_path):
    written = {
        "days": "{{ days }}",
        "note": "{{ note }}",
        "list": ["{{ tags }}", "{{ note }}", "in {{ city }}", 1, None],
        "constant": {"a": [True, 1.5]},
    }
    tree = compile_tree(written, TEXT, names)

    assert tree.render(scope(tmp_path)) == {
        "days": 3,
        "list": [["a", "b"], "in São/Paulo", 1, None],
        "constant": {"a": [True, 1.5]},
    }
    assert tree.parameters == {"days", "note", "tags", "city"}
    assert not tree.is_constant


def test_tree_that_is_one_absent_name_is_absent(names):
    assert compile_tree("{{ note }}", TEXT, names).render(Scope()) is ABSENT


def test_tree_in_another_slot_gives_escaped_texts(names, tmp_path):
    tree = compile_tree({"q": "{{ city }}", "n": "{{ days }}"}, QUERY, names)

    assert tree.render(scope(tmp_path)) == {"q": "S%C3%A3o%2FPaulo", "n": "3"}


def test_tree_shows_references_as_written(names, tmp_path):
    tree = compile_tree({"key": "${env:TOKEN}", "days": "{{ days }}"}, TEXT, names)

    assert tree.masked(scope(tmp_path)) == {"key": "${env:TOKEN}", "days": 3}
    assert tree.render(scope(tmp_path)) == {"key": "s3cret-value", "days": 3}
    assert [str(each) for each in tree.references] == ["${env:TOKEN}"]


def test_faults_of_a_tree_carry_their_path(names, faults):
    written = {"a": [{"b": "{{ ctiy }}"}], "c": "{{ dais }}", "{{ d }}": 1}
    got = faults(lambda: compile_tree(written, TEXT, names))

    assert [(fault.path, fault.offset) for fault in got] == [(("a", 0, "b"), 3), (("c",), 3)]
