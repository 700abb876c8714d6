"""Targets: every fault of each at once, and credentials that are written by mistake."""

import pytest

from toolrt.runtime import load
from toolrt.testing import open_files, write_files

TOOL = "tools: {t: {description: T., effect: read, http: {target: api, url: /x}}}"


def found(folder, target):
    write_files(folder, {"tools.d/t.yaml": f"targets: {{api: {target}}}\n{TOOL}"})
    return load(folder).diagnostics


@pytest.mark.parametrize(
    ("target", "codes"),
    [
        ("{url: 'http://a b', auth: {berer: x}}", ["invalid-url", "unknown-key"]),
        ("{url: 'http://a b', headers: {X: '{{ nope }}'}}", ["invalid-url", "unknown-name"]),
        ("{url: ftp, auth: {bearer: '${TOKEN}'}}", ["invalid-url", "bad-reference"]),
    ],
)
def test_a_fault_of_a_target_hides_no_other(tmp_path, target, codes):
    errors = [one for one in found(tmp_path, target) if one.severity == "error"]

    assert sorted(one.code for one in errors) == sorted(codes)


@pytest.mark.parametrize(
    ("auth", "code", "hint"),
    [
        ("{bearer: 'Bearer ${env:TOKEN}'}", "doubled-scheme", "leave that word out"),
        ("{bearer: $TOKEN}", "constant-credential", "write `${env:TOKEN}`"),
        ("{bearer: abc}", "constant-credential", "write `${env:NAME}` or `${secret:name}`"),
        ("{basic: {username: u, password: $PW}}", "constant-credential", "write `${env:PW}`"),
        ("{api_key: {header: X, value: '${KEY}'}}", "bad-reference", None),
        ("{api_key: {header: X, value: k}}", "constant-credential", "write `${env:NAME}`"),
    ],
)
def test_a_credential_that_is_written_by_mistake_is_told(tmp_path, auth, code, hint):
    target = f"{{url: 'https://api.example.com', auth: {auth}}}"
    faults = [one for one in found(tmp_path, target) if one.code == code]

    assert len(faults) == 1
    assert hint is None or faults[0].hint.startswith(hint)


@pytest.mark.anyio
async def test_a_constant_credential_is_masked_in_a_preview():
    text = "targets: {api: {url: 'https://api.example.com', auth: {bearer: hunter2}}}\n" + TOOL
    async with open_files({"tools.d/t.yaml": text}) as rt:
        seen = await rt.preview("t", {})

    assert "hunter2" not in str(seen)
    assert "Bearer ***" in str(seen)


@pytest.mark.parametrize("word", ["secret", "env", "file"])
def test_a_reference_that_is_written_like_a_name_is_told_how(tmp_path, word):
    target = f"{{url: 'https://api.example.com', headers: {{X: '{{{{ {word}.tok }}}}'}}}}"
    (fault,) = found(tmp_path, target)

    assert (fault.message, fault.hint) == (
        f"`{word}` is not known in this place",
        f"write `${{{word}:tok}}`",
    )
