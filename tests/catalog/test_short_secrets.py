"""Secrets that are too short to be masked are told, and never shown."""

import pytest

from toolrt.runtime import load
from toolrt.testing import write_files

TOOLS = """
tools:
  a: {description: A., effect: read, http: {url: "https://x.example", headers: {k: "${secret:pin}"}}}
  b: {description: B., effect: read, http: {url: "https://x.example", headers: {k: "${secret:pin}"}}}
  c: {description: C., effect: read, http: {url: "https://x.example", headers: {k: "${env:REGION:-eu}"}}}
"""


@pytest.mark.parametrize(
    ("value", "codes"), [("q7x1", ["weak-secret"]), ("q7x1z9", []), ("", []), (None, [])]
)
def test_o1_a_secret_that_is_not_masked_is_told_once(tmp_path, value, codes):
    environ = {"REGION": "us"} | ({} if value is None else {"TOOLRT_SECRET_PIN": value})
    found = load(write_files(tmp_path, {"tools.d/t.yaml": TOOLS}), environ=environ).diagnostics

    assert [one.code for one in found] == codes
    for one in found:
        assert (one.severity, one.line) == ("warning", 3)
        assert "${secret:pin} has fewer than 6 characters" in one.message
        assert value not in f"{one.message}{one.hint}"
