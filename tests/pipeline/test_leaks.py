"""No secret gets out, in whatever form, wherever a text is cut, by whichever way (O1, O2)."""

import base64
import html
import json
import logging
from itertools import product
from random import Random
from urllib.parse import quote

import pytest
from click.testing import CliRunner

from toolrt.core.calls import Caller
from toolrt.core.context import Context
from toolrt.core.errors import ToolError
from toolrt.core.results import Answer
from toolrt.faces.cli.main import cli
from toolrt.testing import open_files, write_files

pytestmark = pytest.mark.anyio

SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\"'<>&%$#@!~"
SECRETS = ["".join(Random(n).choices(SIGNS, k=14 + 2 * n)) for n in range(14)]
FILES = {
    "tools.d/t.yaml": """\
tools:
  t:
    description: T.
    parameters: {v: {required: false}}
    http: {url: "http://127.0.0.1:9/x", query: {v: "{{ v }}"}}
    effect: read
    retry: none
    result: {max_size: 400B}
"""
}
ANN = Caller("ann")


def _base64(pad):
    return lambda secret: base64.b64encode(b"\0" * pad + secret.encode()).decode()


FORMS = {
    "plain": str,
    "base64": _base64(0),
    "base64 1": _base64(1),
    "base64 2": _base64(2),
    "base64 url": lambda s: base64.urlsafe_b64encode(s.encode()).decode(),
    "hex": lambda s: s.encode().hex(),
    "HEX": lambda s: s.encode().hex().upper(),
    "url": lambda s: quote(s, safe=""),
    "json": lambda s: json.dumps(s)[1:-1],
    "html": html.escape,
    "in lines": lambda s: "\n".join(s[at : at + 5] for at in range(0, len(s), 5)),
}
CUTS = range(14)
"""How many characters of a secret stand before the place where the text is cut or parted."""


def leaks(shown, hidden):
    """Whether `shown` holds more than a few characters of `hidden` in a row; at the ends of base64
    stands what is beside a secret as well.
    """
    hidden, size = hidden[4:-4], 10
    return any(hidden[at : at + size] in shown for at in range(0, len(hidden) - size + 1, 3))


def tuples():
    """Ways, secrets, cuts, and the forms that one call has: where it is cut there is but one."""
    for secret, cut in product(SECRETS, CUTS):
        for name in FORMS:
            yield answering, secret, cut, [name]
        for way in (in_parts, failing, progressing, logging_it):
            yield way, secret, cut, [*FORMS]


class Leaking:
    """A binding that does whatever the test wants."""

    do = None

    async def call(self, invocation):
        return Answer(Leaking.do(invocation))

    def preview(self, invocation):
        return {"sent": [invocation.arguments]}


def answering(texts, cut):
    [text] = texts
    return lambda _: "x" * (380 - cut) + text + "y" * 100


def in_parts(texts, cut):
    return lambda _: [{"a": [text[:cut], text[cut:]], text: {"n": text}} for text in texts]


def failing(texts, cut):
    def fail(_):
        told = {text: ["x" * (380 - cut) + text + "z" * 100] for text in texts}
        raise ToolError("x" * (380 - cut) + texts[cut % len(texts)], hint=texts[-1], details=told)

    return fail


def progressing(texts, cut):
    def tell(invocation):
        for text in texts:
            Context(invocation).progress(1, 2, f"{'x' * cut} {text}")

    return tell


def logging_it(texts, cut):
    def log(invocation):
        for text in texts:
            Context(invocation).log(f"{'x' * cut} {text}")

    return log


async def test_o1_ten_thousand_ways_out_and_none_is_open(caplog):
    tried, heard = 0, []
    caplog.set_level(logging.INFO)
    async with open_files(FILES) as rt:
        for secret in SECRETS:
            rt._gateway._redactor.learn(secret)
        rt.swap(rt.snapshot.__class__(**{
            **{f: getattr(rt.snapshot, f) for f in rt.snapshot.__dataclass_fields__},
            "tools": {"t": rt.snapshot.tools["t"].answered_by(Leaking())},
        }))  # fmt: skip
        for way, secret, cut, names in tuples():
            texts = [FORMS[name](secret) for name in names]
            Leaking.do = way(texts, cut)
            given = {"v": texts[0]} if cut == 0 else {}
            result = await rt.call("t", given, ANN, lambda *told: heard.append(told))
            shown = json.dumps(result.document(), ensure_ascii=False)
            shown = "\n".join([shown, str(heard), *caplog.messages])
            if cut == 0 and result.context.get("spilled"):
                part = await rt.read_output(result.context["spilled"], 0, 390, ANN)
                shown += part.text
            if cut == 1:
                shown += str(await rt.preview("t", {"v": texts[0]}, ANN))
            for text in texts:
                hidden = {text, json.dumps(text)[1:-1], repr(text)[1:-1]}
                assert not any(leaks(shown, form) for form in hidden), (way, text, cut, shown)
            tried += len(texts)
            heard.clear()
            caplog.clear()
        await rt._state.memory.journal.flush()
        kept = await rt._state.database.read(lambda s: s.rows("SELECT body FROM journal"))
        whole = b"".join(bytes(body) for (body,) in kept).decode()
    assert [s for s, f in product(SECRETS, FORMS) if leaks(whole, FORMS[f](s))] == []
    assert tried > 10_000


PRINTING = """\
tools:
  say:
    description: Says.
    parameters: {v: string}
    command: {argv: [printf, "%s", "{{ v }}"], env: {KEY: "${env:KEY}"}}
    effect: read
"""


@pytest.mark.parametrize("name", FORMS)
def test_o1_the_command_line_shows_none(tmp_path, name):
    write_files(tmp_path, {"tools.d/t.yaml": PRINTING})
    text = FORMS[name](SECRETS[5])
    for options in ([], ["-o", "json"], ["--dry-run"], ["-o", "yaml"]):
        words = ["run", "-p", str(tmp_path), "-v", *options, "say", f"v={text}"]
        done = CliRunner().invoke(cli, words, env={"KEY": SECRETS[5]})
        assert done.exit_code == 0, done.output
        assert not leaks(done.output, text)
        assert not leaks(done.output, json.dumps(text)[1:-1])
