"""References: what may be written, where values come from, and that none is ever shown."""

import json
import traceback

import pytest

from toolrt.core.calls import Caller
from toolrt.core.errors import CallError
from toolrt.core.faults import FaultError
from toolrt.core.redaction import Secret
from toolrt.expressions.references import Reference, References, parse

VALUE = "s3cret-value"


@pytest.fixture
def references(tmp_path):
    return References(tmp_path, {"TOKEN": VALUE, "EMPTY": ""})


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("${env:TOKEN}", Reference("env", "TOKEN")),
        ("${env:TOKEN:-a:-b c}", Reference("env", "TOKEN", "a:-b c")),
        ("${env:TOKEN:-}", Reference("env", "TOKEN", "")),
        ("${file:keys/api.txt}", Reference("file", "keys/api.txt")),
        ("${secret:weather-api.v2}", Reference("secret", "weather-api.v2")),
        ("${caller:github}", Reference("caller", "github")),
        ("${tenant:github}", Reference("tenant", "github")),
    ],
)
def test_every_form_of_a_reference_is_read(text, reference):
    assert parse(text) == reference


@pytest.mark.parametrize(
    ("text", "offset", "hint"),
    [
        ("${TOKEN}", 0, "write ${env:TOKEN}"),
        ("${evn:TOKEN}", 2, "did you mean `${env:TOKEN}`?"),
        ("${vault:TOKEN}", 2, "there are env, file, secret, caller, tenant"),
        ("${env:}", 6, None),
        ("${env:A-B}", 6, None),
        ("${secret:../x}", 9, None),
        ("${secret:.x}", 9, None),
        ("${secret:x:-default}", 0, None),
        ("${}", 0, None),
    ],
)
def test_what_is_no_reference_is_a_fault_at_its_place(text, offset, hint):
    with pytest.raises(FaultError) as caught:
        parse(text, offset=10)

    (fault,) = caught.value.faults
    assert (fault.code, fault.offset) == ("bad-reference", 10 + offset)
    if hint:
        assert fault.hint == hint


def test_environment_is_read_at_each_call(references):
    assert references.resolve(Reference("env", "TOKEN")).reveal() == VALUE
    references.environ["TOKEN"] = "another"
    assert references.resolve(Reference("env", "TOKEN")).reveal() == "another"


@pytest.mark.parametrize("name", ["NOT_SET", "EMPTY"])
def test_default_stands_in_for_a_variable_that_is_unset_or_empty(references, name):
    assert references.resolve(Reference("env", name, "plain")).reveal() == "plain"
    assert references.missing(Reference("env", name, "plain")) is None


def test_missing_variable_is_named(references):
    with pytest.raises(CallError, match="NOT_SET is not set") as caught:
        references.resolve(Reference("env", "NOT_SET"))
    assert caught.value.code == "missing-credential"


def test_unusable_says_what_is_missing_before_any_call(references):
    asked = [
        Reference("env", "TOKEN"),
        Reference("env", "NOT_SET"),
        Reference("file", "nowhere.txt"),
        Reference("secret", "weather"),
        Reference("caller", "github"),
        Reference("tenant", "github"),
    ]

    assert references.unusable(asked) == [
        "environment variable NOT_SET is not set",
        "file nowhere.txt cannot be read",
        "no secret weather (looked in TOOLRT_SECRET_WEATHER)",
    ]


def test_file_loses_one_newline_and_is_relative_to_the_project(references, tmp_path):
    (tmp_path / "key.txt").write_text("line\n\n")

    assert references.resolve(Reference("file", "key.txt")).reveal() == "line\n"
    assert references.resolve(Reference("file", str(tmp_path / "key.txt"))).reveal() == "line\n"


def test_callers_own_credential_is_used_and_nobody_elses(references):
    ann = Caller("ann", credentials={"github": Secret(VALUE)})
    asked = Reference("caller", "github")

    assert references.resolve(asked, ann).reveal() == VALUE
    for other in (Caller("bob"), None):
        with pytest.raises(CallError, match="brought no `github`"):
            references.resolve(asked, other)


def test_tenants_do_not_see_each_others_secrets(tmp_path):
    environ = {"TOOLRT_SECRET_ACME_API": "of acme", "TOOLRT_SECRET_ACME_X_API": "of acme_x?"}
    references = References(tmp_path, environ)
    asked = Reference("tenant", "api")

    assert references.resolve(asked, Caller("a", tenant="acme")).reveal() == "of acme"
    for tenant in ("acme_x", "ACME", "../acme", "other", None):
        with pytest.raises(CallError):
            references.resolve(asked, Caller("b", tenant=tenant))


@pytest.mark.parametrize("kind", ["env", "file", "secret", "tenant", "caller"])
def test_o1_every_resolved_value_is_learnt_for_masking(tmp_path, kind):
    (tmp_path / "X").write_text(VALUE)
    environ = {"X": VALUE, "TOOLRT_SECRET_X": VALUE, "TOOLRT_SECRET_ACME_X": VALUE}
    references = References(tmp_path, environ)

    caller = Caller(tenant="acme", credentials={"X": Secret(VALUE)})
    references.resolve(Reference(kind, "X"), caller)

    assert references.redactor.text(f"got {VALUE}!") == "got ***!"


@pytest.mark.parametrize("secrets", [["env"], ["env", {"command": ["/nowhere/vault"]}]])
def test_o1_what_is_at_hand_is_learnt_before_any_call(tmp_path, secrets):
    environ = {"X": VALUE, "TOOLRT_SECRET_Y": "another-s3cret"}
    references = References(tmp_path, environ, secrets)

    assert references.unusable([Reference("env", "X", "plain"), Reference("secret", "Y")]) == []

    assert references.redactor.text(f"{VALUE} another-s3cret") == "*** ***"


def test_o1_value_that_the_default_spells_out_is_no_secret(tmp_path):
    references = References(tmp_path, {"X": "localhost"})
    references.resolve(Reference("env", "X", "localhost"))

    assert references.redactor.text("at localhost") == "at localhost"


@pytest.mark.parametrize("written", ["s3cret-value\n", "s3cret-value\r\n", "s3cret-value\n\n"])
def test_o1_file_is_masked_with_and_without_its_last_newline(references, tmp_path, written):
    (tmp_path / "key.txt").write_text(written)
    references.resolve(Reference("file", "key.txt"))

    for shown in ("got s3cret-value!", "got s3cret-value\n!", "got s3cret-value\n\n!"):
        assert "s3cret" not in references.redactor.text(shown)


def test_o1_default_is_no_secret(references):
    references.resolve(Reference("env", "NOT_SET", "ordinary"))

    assert references.redactor.text("ordinary") == "ordinary"


def test_o1_no_repr_or_error_shows_a_value(references):
    secret = references.resolve(Reference("env", "TOKEN"))
    with pytest.raises(TypeError) as caught:
        json.dumps({"a": secret})
    shown = "".join(traceback.format_exception(caught.value))

    for text in (repr(secret), str(secret), f"{secret}", f"{secret:>20}", repr(references), shown):
        assert VALUE not in text


@pytest.mark.anyio
async def test_command_secrets_are_prepared_off_the_loop(tmp_path):
    references = References(tmp_path, {}, [{"command": ["/bin/echo", "-n"]}])

    await references.prepare([Reference("secret", "weather"), Reference("env", "X")])

    assert references.resolve(Reference("secret", "weather")).reveal() == "weather"


@pytest.mark.parametrize("blank", ["", " ", "\n\t "])
def test_a_blank_value_is_none_and_its_place_is_named(tmp_path, blank):
    (tmp_path / "key").write_text(blank + "\n")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "api").write_text(blank)
    environ = {"X": blank, "TOOLRT_SECRET_API": blank, "TOOLRT_SECRET_ACME_API": blank}
    references = References(tmp_path, environ, ["env", {"files": "kept"}])
    caller = Caller("ada", tenant="acme", credentials={"hub": Secret(blank)})
    asked = [Reference("env", "X"), Reference("file", "key"), Reference("secret", "api")]

    assert references.unusable(asked) == [
        "environment variable X is empty",
        "file key is empty",
        "no secret api (looked in TOOLRT_SECRET_API, which is empty, kept/api, which is empty)",
    ]
    for one in (*asked, Reference("caller", "hub"), Reference("tenant", "api")):
        with pytest.raises(CallError) as caught:
            references.resolve(one, caller)
        assert caught.value.code == "missing-credential"


def test_a_default_that_is_written_empty_is_used(references):
    assert references.resolve(Reference("env", "EMPTY", "")).reveal() == ""
    assert references.unusable([Reference("env", "EMPTY", "")]) == []


def test_a_secret_that_is_empty_in_one_place_is_looked_up_in_the_next(tmp_path):
    (tmp_path / "api").write_text(VALUE)
    references = References(tmp_path, {"TOOLRT_SECRET_API": ""}, ["env", {"files": "."}])

    assert references.resolve(Reference("secret", "api")).reveal() == VALUE
