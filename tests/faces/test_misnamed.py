"""A project file under another name: no verb takes its silence for settings."""

import pytest

import toolrt
from toolrt.core.errors import ProjectError
from toolrt.testing import write_files

pytestmark = pytest.mark.anyio

STRICT = "policy: required\nidentities: [{os_user: nobody, principal: ann, may: [call]}]\n"


@pytest.mark.parametrize(
    "verb", [["check"], ["list"], ["run", "t.add", "a=1"], ["history", "list"]]
)
@pytest.mark.parametrize("name", ["toolrt.yml", "toolrt.YAML", "toolrt.json"])
def test_p8_a_misnamed_project_file_stops_every_verb(invoke, project, verb, name):
    write_files(project, {name: STRICT})

    shown = invoke(*verb)

    assert shown.exit_code == 3
    told = shown.stdout + shown.stderr
    assert "not-read" in told
    assert f"`{name}`" in told
    assert "rename it to `toolrt.yaml`" in told


async def test_p8_a_project_with_a_misnamed_project_file_does_not_open(tmp_path):
    write_files(tmp_path, {"toolrt.yml": STRICT, "tools.d/t.yaml": "tools: {}\n"})

    with pytest.raises(ProjectError, match=r"toolrt\.yml"):
        async with toolrt.open(tmp_path):
            pass


def test_a_file_that_is_not_read_fails_a_strict_check(invoke, project):
    write_files(project, {"policies.d/deny.json": "{}"})

    assert invoke("check").exit_code == 0
    assert invoke("check", "--strict").exit_code == 3
