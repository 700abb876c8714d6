"""The official servers of MCP as sources: everything there is in the protocol, and real files."""

import json
from pathlib import Path

import pytest
from conformance.test_conformance import fetched

import toolrt

pytestmark = [pytest.mark.anyio, pytest.mark.conformance]

EVERYTHING = "@modelcontextprotocol/server-everything@2026.8.31"
FILESYSTEM = "@modelcontextprotocol/server-filesystem@2026.8.31"
RULES = "rules: [{id: all, decide: allow, tools: ['*']}]\n"


def project(folder: Path, command: list[str], *more: str) -> Path:
    """A project with one source, all of whose tools may be called unasked."""
    for name in ("tools.d", "policies.d"):
        (folder / name).mkdir()
    lines = ["sources:", "  it:", f"    mcp: {{command: {json.dumps(command)}}}", *more]
    text = "defaults: {effect: read, hitl: none}\n" + "\n".join(lines) + "\n"
    (folder / "tools.d" / "it.yaml").write_text(text)
    (folder / "policies.d" / "all.yaml").write_text(RULES)
    return folder


async def test_everything_there_is(tmp_path):
    command = fetched(EVERYTHING, "dist/index.js")
    told = []
    async with toolrt.open(project(tmp_path, command)) as rt:
        names = {name.partition(".")[2] for name in rt.snapshot.tools}
        unavailable = [each.name for each in rt.snapshot.tools.values() if each.unavailable]
        echo = await rt.call("it.echo", {"message": "hello"})
        total = await rt.call("it.get-sum", {"a": 2, "b": 3})
        wrong = await rt.call("it.get-sum", {"a": "two", "b": 3})
        image = await rt.call("it.get-tiny-image", {})
        structured = await rt.call("it.get-structured-content", {"location": "Chicago"})
        links = await rt.call("it.get-resource-links", {"count": 2})
        resource = await rt.call(
            "it.get-resource-reference", {"resourceType": "Text", "resourceId": 1}
        )
        steps = {"duration": 0.4, "steps": 2}
        long = await rt.call(
            "it.trigger-long-running-operation",
            steps,
            on_progress=lambda *said: told.append(said),
        )

    assert {"echo", "get-sum", "get-tiny-image", "get-structured-content"} <= names
    assert unavailable == []
    assert echo.text == "Echo: hello"
    assert "5" in total.text
    assert wrong.error.code == "invalid-arguments"
    assert "image" in [each["type"] for each in image.data]
    assert structured.data["temperature"]
    assert [each["type"] for each in links.data].count("resource_link") == 2
    assert "resource" in [each["type"] for each in resource.data]
    assert long.status == "success"
    assert told


async def test_files_behind_the_server_of_files(tmp_path):
    command = fetched(FILESYSTEM, "dist/index.js")
    files = tmp_path / "files"
    files.mkdir()
    (files / "a.txt").write_text("Ada")
    base = project(tmp_path, [*command, str(files)])
    async with toolrt.open(base) as rt:
        entry = rt.snapshot.tools["it.write_file"]
        read = await rt.call("it.read_text_file", {"path": str(files / "a.txt")})
        listed = await rt.call("it.list_directory", {"path": str(files)})
        outside = await rt.call("it.read_text_file", {"path": "/etc/hostname"})
        missing = await rt.call("it.read_text_file", {"path": str(files / "none.txt")})

    assert entry.effect == "irreversible"
    assert read.status == "success"
    assert "Ada" in json.dumps(read.data)
    assert "a.txt" in json.dumps(listed.data)
    assert outside.error.code == "execution-failed"
    assert missing.status == "error"
