"""What a start of the server refuses, and what it tells whoever starts it."""

import asyncio
import subprocess
import sys
from getpass import getuser
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from served import FILES, PEOPLE, hash_of, served

from toolrt.catalog import project as catalog
from toolrt.faces.cli.main import cli
from toolrt.faces.cli.serving import Plan, notes_of
from toolrt.faces.http.keyfile import Running, kept, path_of
from toolrt.faces.http.serving import bound
from toolrt.manifest.project import ProjectFile, Serve, is_key_hash
from toolrt.testing import write_files


def run(project: Path, *arguments: str, **more: str) -> Result:
    return CliRunner(env=more).invoke(cli, ["-p", str(project), *arguments])


@pytest.mark.parametrize(
    "url", ["https://x.example/path", "ftp://x.example", "x.example", "https://", "https://a b"]
)
@pytest.mark.parametrize("is_flag", [True, False])
def test_a_public_url_that_is_none_is_refused_wherever_it_stands(tmp_path, url, is_flag) -> None:
    project = write_files(tmp_path / "p", {**FILES, "toolrt.yaml": PEOPLE})
    flag = ["--public-url", url] if is_flag else []

    refused = run(project, "serve", *flag, **({} if is_flag else {"TOOLRT_PUBLIC_URL": url}))

    assert refused.exit_code == 2
    assert f"`--public-url` cannot be `{url}`" in refused.stderr
    assert "https://host, without a path" in refused.stderr


@pytest.mark.parametrize("proof", ["mysecretkey", "a", hash_of("k")[:-1], hash_of("k") + "0"])
def test_a_key_in_place_of_its_hash_is_no_identity(tmp_path, proof) -> None:
    people = f"identities: [{{token_hash: '{proof}', principal: ann}}]\n"
    project = write_files(tmp_path / "p", {**FILES, "toolrt.yaml": people})

    checked = run(project, "check", "--strict")
    started = run(project, "serve", "--host", "0.0.0.0", "--port", "0")

    assert checked.exit_code != 0
    assert "`token_hash` is no SHA-256" in checked.stdout + checked.stderr
    assert started.exit_code == 2
    assert "no identity says who they are" in started.stderr


def test_hashes_are_taken_as_they_are_compared() -> None:
    assert all(map(is_key_hash, (hash_of("k"), hash_of("k")[7:], hash_of("k").upper())))
    assert not any(map(is_key_hash, (None, "", "mysecretkey", "sha256:")))


@pytest.mark.anyio
async def test_a_server_that_can_keep_nothing_is_not_ready(caplog) -> None:
    """A file where the folder of the state should be is as good as a folder of somebody else's."""
    async with served({**FILES, "toolrt.yaml": "state: kept/state.db\n"}) as server:
        folder = server.runtime.project / "kept"
        folder.write_text("")
        before = await server.get("/readyz")
        asked = await server.call("t.pay", to="x", amount=1)
        folder.unlink()
        await asyncio.sleep(1.1)
        after = await server.get("/readyz")

    assert (before.status_code, before.json()["code"]) == (503, "unavailable")
    assert str(folder) not in before.text
    assert asked.status_code == 503
    assert after.status_code == 200
    assert all(each.exc_info is None for each in caplog.records)
    assert any("no approval can be asked for: " in each for each in caplog.messages)


JWT = "serve: {auth: {jwt: {issuer: i, audience: a, jwks: keys.json}}}\n"


@pytest.mark.parametrize(
    ("keys", "says"),
    [(None, "`keys.json` is no file of this project"), ("{", "cannot be read"),
     ("{}", "holds no keys"), ('{"keys": []}', "holds no keys"), ("[]", "holds no keys")],
)  # fmt: skip
def test_keys_of_an_issuer_that_are_not_there_are_found_before_a_start(
    tmp_path, keys, says
) -> None:
    given = {} if keys is None else {"keys.json": keys}
    project = write_files(tmp_path / "p", {**FILES, "toolrt.yaml": JWT, **given})

    checked, started = run(project, "check"), run(project, "serve", "--port", "0")

    assert checked.exit_code != 0
    assert says in checked.stdout + checked.stderr
    assert started.exit_code != 0


def test_a_library_that_is_not_installed_is_named(tmp_path, monkeypatch) -> None:
    given = {"keys.json": '{"keys": [{}]}', "toolrt.yaml": JWT}
    project = write_files(tmp_path / "p", {**FILES, **given})
    monkeypatch.setitem(sys.modules, "jwt", None)
    monkeypatch.setattr(catalog, "find_spec", lambda _name: None)
    monkeypatch.delitem(sys.modules, "toolrt.faces.http.tokens", raising=False)

    checked, started = run(project, "check"), run(project, "serve", "--port", "0")

    assert "pip install 'toolrt[jwt]'" in checked.stdout + checked.stderr
    assert started.exit_code != 0
    assert "pip install 'toolrt[jwt]'" in started.stderr


@pytest.mark.parametrize(
    ("written", "notes"),
    [
        ("", []),
        (PEOPLE, ["anybody on this machine may call", "may make no calls at this terminal"]),
        (PEOPLE + "serve: {auth: {required: true}}\n", ["may make no calls at this terminal"]),
        (PEOPLE + "serve: {host: 0.0.0.0}\n",
         ["people get links to http://127.0.0.1:1; `public_url`", "no calls at this terminal"]),
        (PEOPLE + "serve: {host: 0.0.0.0, public_url: 'https://a.example'}\n",
         ["no calls at this terminal"]),
        (PEOPLE + f"- {{os_user: {getuser()}, principal: me}}\n",
         ["anybody on this machine may call"]),
    ],
)  # fmt: skip
def test_a_start_says_what_may_not_be_meant(written, notes) -> None:
    project = ProjectFile.model_validate(yaml.safe_load(written) or {})
    serve_ = project.serve or Serve()
    is_local = serve_.host == "127.0.0.1"
    plan = Plan(Path(), serve_.host, 1, serve_.public_url, is_local, 1, 1.0, False, False, Path())

    told = list(notes_of(plan, "http://127.0.0.1:1", project))

    assert [part in note for part, note in zip(notes, told, strict=True)] == [True] * len(notes)


def test_over_stdio_who_is_locked_out_is_told(tmp_path) -> None:
    project = write_files(tmp_path / "p", {**FILES, "toolrt.yaml": PEOPLE})
    command = [sys.executable, "-m", "toolrt", "-p", str(project), "serve", "--stdio"]

    done = subprocess.run(command, input=b"\n{}\n", capture_output=True, timeout=30, check=False)

    assert b"may make no calls at this terminal" in done.stderr
    assert b"os_user" in done.stderr


@pytest.mark.parametrize("option", [["--workers", "2"], ["--drain", "5s"], ["--port", "1"]])
def test_over_stdio_what_is_for_a_port_is_refused(tmp_path, option) -> None:
    project = write_files(tmp_path / "p", FILES)

    refused = run(project, "serve", "--stdio", *option)

    assert refused.exit_code == 2
    assert f"leave `{option[0]}` out" in refused.stderr


def test_a_reload_tells_of_a_server_that_was_killed_that_it_is_not_there(tmp_path) -> None:
    project = write_files(tmp_path / "p", FILES)
    closed = bound("127.0.0.1", 0)
    port = closed.getsockname()[1]
    closed.close()
    running = Running(f"http://127.0.0.1:{port}", "key", 1)
    with kept(path_of(project / ".toolrt", port), running):
        told = run(project, "reload")

    assert "no server of this project runs on this machine" in told.stderr
    assert "serve" in told.stderr
    assert "Errno" not in told.stderr


@pytest.mark.anyio
async def test_a_reload_that_is_not_allowed_says_who_may(tmp_path) -> None:
    async with served({**FILES, "toolrt.yaml": PEOPLE}) as server:
        project = server.runtime.project
        running = Running(f"http://127.0.0.1:{server.port}", "bot-key", 1)
        with kept(path_of(project / ".toolrt", server.port), running):
            told = await asyncio.to_thread(run, project, "reload")

    assert told.exit_code == 4
    assert "admin" in told.stderr
    assert "doctor" not in told.stderr
