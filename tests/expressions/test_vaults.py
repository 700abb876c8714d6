"""Where secrets are kept: variables, files, and a command that is asked once."""

import os

from toolrt.core.calls import Caller
from toolrt.expressions import vaults
from toolrt.expressions.references import Reference, References

WEATHER = Reference("secret", "weather-api")


def script(folder, body):
    path = folder / "vault.sh"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return [str(path)]


def test_variable_is_upper_case_with_underscores(tmp_path):
    references = References(tmp_path, {"TOOLRT_SECRET_WEATHER_API": "abcdef"})

    assert references.resolve(WEATHER).reveal() == "abcdef"


def test_places_are_asked_in_order(tmp_path):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "weather-api").write_text("from file\n")
    environ = {"TOOLRT_SECRET_WEATHER_API": "from environment"}

    for secrets, found in (
        (["env", {"files": "keys"}], "from environment"),
        ([{"files": "keys"}, "env"], "from file"),
    ):
        assert References(tmp_path, environ, secrets).resolve(WEATHER).reveal() == found


def test_all_places_are_named_when_none_knows(tmp_path):
    references = References(tmp_path, {}, ["env", {"files": "/run/secrets"}])

    assert references.missing(WEATHER) == (
        "no secret weather-api (looked in TOOLRT_SECRET_WEATHER_API, /run/secrets/weather-api)"
    )


def test_tenants_files_are_in_a_folder_of_their_own(tmp_path):
    (tmp_path / "keys" / "acme").mkdir(parents=True)
    (tmp_path / "keys" / "acme" / "api").write_text("of acme")
    references = References(tmp_path, {}, [{"files": "keys"}])

    assert references.resolve(Reference("tenant", "api"), Caller(tenant="acme")).reveal()
    assert references.missing(Reference("secret", "api")) is not None


def test_command_gets_the_name_last_and_is_asked_once(tmp_path):
    argv = script(tmp_path, 'echo "$1-$2"; echo x >> "$COUNT"')
    environ = {"COUNT": str(tmp_path / "count"), "PATH": os.defpath}
    references = References(tmp_path, environ, [{"command": [*argv, "get"]}])

    assert {references.resolve(WEATHER).reveal() for _ in range(3)} == {"get-weather-api"}
    assert (tmp_path / "count").read_text() == "x\n"


def test_command_is_not_run_to_find_out_what_is_missing(tmp_path):
    argv = script(tmp_path, "touch ran")
    references = References(tmp_path, {}, [{"command": argv}])

    assert references.missing(WEATHER) is None
    assert not (tmp_path / "ran").exists()


def test_f5_only_small_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "big").write_bytes(b"a" * (64 * 1024 + 1))
    (tmp_path / "binary").write_bytes(b"\xff\xfe")

    for name in ("fifo", "big", "binary", ".", "nothing"):
        assert vaults.read_file(tmp_path / name) is None
