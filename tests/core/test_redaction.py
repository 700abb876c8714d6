import base64
import json
import time
from urllib.parse import quote, quote_plus

import pytest

from toolrt.core.redaction import Redactor, without_credentials

SECRET = 'K3y/+"&hostile=<s3cret>é 0123456789abcdefghijklmnopqrstuvwxyz0123456789'
RAW = SECRET.encode()

FORMS = {
    "plain": SECRET,
    "json": json.dumps(SECRET),
    "json in UTF-8": json.dumps(SECRET, ensure_ascii=False),
    "json, capital escapes": json.dumps(SECRET).replace("\\u00e9", "\\u00E9"),
    "json, slashes escaped": json.dumps(SECRET).replace("/", "\\/"),
    "json for HTML": json.dumps(SECRET, ensure_ascii=False)
    .replace("&", "\\u0026")
    .replace("<", "\\u003c")
    .replace(">", "\\u003e"),
    "URL": quote(SECRET, safe=""),
    "URL with slashes": quote(SECRET),
    "form": quote_plus(SECRET),
    "URL in small letters": quote(SECRET, safe="").replace("%2F", "%2f").replace("%2B", "%2b")
    .replace("%3D", "%3d").replace("%3C", "%3c").replace("%3E", "%3e").replace("%C3%A9", "%c3%a9"),
    "hex": RAW.hex(),
    "HEX": RAW.hex().upper(),
    "hex in pairs": RAW.hex(" "),
    "base64": base64.b64encode(RAW).decode(),
    "base64 in lines": base64.encodebytes(RAW).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(RAW).decode(),
    "base64 inside 1": base64.b64encode(b"a" + RAW + b"bc").decode(),
    "base64 inside 2": base64.b64encode(b"ab" + RAW + b"c").decode(),
}  # fmt: skip


@pytest.fixture
def redactor():
    redactor = Redactor()
    redactor.learn(SECRET)
    return redactor


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_o1_every_form_of_a_secret_is_masked(redactor, form):
    shown = redactor.text(f"<{form}>")

    assert "***" in shown
    assert len(shown) < 16


def test_o1_a_line_of_a_long_secret_is_masked_by_itself():
    redactor = Redactor()
    redactor.learn("-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nab\n-----END KEY-----")

    assert redactor.value(["x MIIEvQIBADANBgkqhkiG9w0BAQ", "ab"]) == ["x ***", "ab"]


@pytest.mark.parametrize("kept", [6, 7, 30, len(SECRET) - 1])
def test_o2_a_part_that_a_cut_left_is_masked(redactor, kept):
    head, tail = SECRET[:kept], SECRET[-kept:]

    assert redactor.excerpt(f"says {head}") == "says ***"
    assert redactor.excerpt(f"{tail} it says") == "*** it says"
    assert redactor.excerpt(f"1: {head}…{tail}; maybe") == "1: ***…***; maybe"
    cut = f"a {head}\n[... 17 bytes left out ...]\n{tail} b"
    assert redactor.excerpt(cut) == "a ***\n[... 17 bytes left out ...]\n*** b"


@pytest.mark.parametrize("text", ["", "K3y/", "0123456789", "…", "nothing … here", "K3y/+ no"])
def test_o2_other_text_stays(redactor, text):
    assert redactor.excerpt(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cannot reach postgresql://bob:hunter2@db:5432/x", "cannot reach postgresql://***/x"),
        ("redis://:hunter2@10.0.0.5", "redis://***"),
        ("amqp://bob:p@ss/w:rd@mq/vhost now", "amqp://***/vhost now"),
        ("https://ghp_0123456789@github.com/x.git", "https://***/x.git"),
        ("host=db user=bob password=hunter2 x", "host=db user=bob password=*** x"),
        ("jdbc:x?user=bob&password=hunter2&ssl=1", "jdbc:x?user=bob&password=***&ssl=1"),
        ("PWD='hunter 2';Server=x", "PWD=***;Server=x"),
        ('{"api_key": "hunter2", "a": 1}', '{"api_key": ***, "a": 1}'),
        ("{'Password': 'hunter2'}", "{'Password': ***}"),
    ],
)
def test_a_credential_that_an_error_quotes_is_masked(text, shown):
    assert without_credentials(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "see https://example.com/a?b=c@d",
        "unexpected token: }",
        "password: too short",
        "mail bob@example.com",
        "10:30 a@b",
    ],
)
def test_an_error_without_credentials_stays(text):
    assert without_credentials(text) == text


@pytest.mark.parametrize("piece", ["://a:", "://", "password=", "'token': '", "x@"])
def test_masking_takes_no_longer_than_reading(piece):
    text = piece * 100_000
    began = time.process_time()
    without_credentials(text)

    assert time.process_time() - began < 0.5
