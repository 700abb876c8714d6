"""What the command line tells of a bug: where to look, and no secret."""

import pytest

from toolrt.core.errors import CallError

KEY = """
  secretive:
    description: Needs a secret.
    parameters: {}
    http: {url: "http://127.0.0.1:9/", headers: {X-Key: "${env:TOOLRT_TEST_KEY}"}}
"""
SECRETS = ("s3cret-value", "hunter2")


@pytest.fixture
def report(project, monkeypatch, tmp_path):
    """The text of the one report that was written."""
    with (project / "tools.d" / "t.yaml").open("a") as file:
        file.write(KEY)
    monkeypatch.setenv("TOOLRT_TEST_KEY", "s3cret-value")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def text():
        [path] = tmp_path.glob("toolrt-bug-*.txt")
        return path.read_text()

    return text


def fail(*_args, **_more):
    reason = ValueError("cannot open postgresql://bob:hunter2@db/x with s3cret-value\x1b[2J")
    raise ZeroDivisionError("inside") from reason


@pytest.mark.parametrize(
    ("place", "verb"),
    [
        ("toolrt.pipeline.stages.shape.Shape.result", ("run", "t.add", "a:=1")),
        ("toolrt.faces.cli.list.signature", ("list",)),
    ],
)
def test_o1_neither_traceback_nor_report_tells_a_secret(invoke, monkeypatch, report, place, verb):
    monkeypatch.setattr(place, fail)

    shown = invoke(*verb, "-v")

    assert shown.exit_code == 70
    for text in (shown.output, shown.stderr, report()):
        assert not any(secret in text for secret in SECRETS)
        assert "\x1b" not in text
    for text in (shown.stderr, report()):
        assert "postgresql://***/x with ***\\x1b[2J" in text
        assert "ZeroDivisionError: inside" in text


@pytest.mark.parametrize(
    "argument", ["text=hunter2", 'text:=["hunter2"]', "x" * 70 + "=hunter2", '["hunter2"]']
)
def test_report_keeps_arguments_to_itself(invoke, monkeypatch, report, argument):
    monkeypatch.setattr("toolrt.runtime.open", None)

    invoke("run", "t.echo", argument)

    assert "hunter2" not in report()


def test_report_masks_a_known_secret_in_an_argument(invoke, monkeypatch, report):
    monkeypatch.setattr("toolrt.faces.cli.show.signature", fail)

    invoke("show", "t.add", "-p", "../project", "--", "s3cret-value=1")
    invoke("show", "t.add")

    assert "s3cret-value" not in report()


def test_o1_module_that_fails_with_a_secret_is_checked_without_it(invoke, project, report):
    del report
    (project / "sums.py").write_text(
        "raise ValueError('postgresql://bob:hunter2@db/x, s3cret-value, /' + 'a' * 300 + '/b')\n"
    )

    for shown in (invoke("check"), invoke("check", "-o", "json"), invoke("run", "t.add")):
        assert shown.exit_code == 3
        assert not any(secret in shown.output for secret in SECRETS)


def test_o1_syntax_error_of_ones_own_is_masked_too(invoke, project):
    (project / "sums.py").write_text("raise SyntaxError('at postgresql://bob:hunter2@db/x')\n")

    assert "hunter2" not in invoke("check").output


@pytest.mark.parametrize("options", [("--resolved",), ("--resolved", "-o", "json"), ()])
def test_o1_show_masks_a_password_that_a_manifest_spells_out(invoke, project, options):
    (project / "tools.d" / "u.yaml").write_text(
        "tools:\n  u:\n    description: U.\n    parameters: {}\n"
        '    command: {argv: [echo, "--db=postgresql://bob:hunter2@db/x"]}\n'
    )

    assert "postgresql://***/x" in (shown := invoke("show", "u", *options).output)
    assert "hunter2" not in shown
    assert "hunter2" not in invoke("run", "u", "--dry-run").output


def test_o1_excerpt_of_a_file_shows_no_password_of_a_url(invoke, project):
    (project / "tools.d" / "u.yaml").write_text(
        "tools:\n  u:\n    description: U.\n    parameters: {}\n"
        "    http: http://bob:hunter2@127.0.0.1/x\n"
    )

    shown = invoke("check").output

    assert "http://bob:*******@127.0.0.1/x" in shown
    assert "hunter2" not in shown


@pytest.mark.parametrize("options", [(), ("-o", "json")])
def test_o1_end_of_a_verb_tells_no_secret(invoke, monkeypatch, options):
    def fail(*_args, **_more):
        hint = "password=hunter2"
        raise CallError("at postgresql://bob:hunter2@db/x", code="unavailable", hint=hint)

    monkeypatch.setattr("toolrt.runtime.load", fail)
    shown = invoke("list", *options)

    assert "postgresql://***/x" in shown.output
    assert "hunter2" not in shown.output
