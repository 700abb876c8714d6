"""What a start of the server refuses, and what it tells whoever starts it."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from served import FILES, PEOPLE, hash_of

from toolrt.faces.cli.main import cli
from toolrt.manifest.project import is_key_hash
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
