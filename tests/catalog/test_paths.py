"""`format: path` in whole projects: enforced, or refused when they are loaded."""

import json

import pytest

from toolrt.runtime import load
from toolrt.testing import open_files, write_files

pytestmark = pytest.mark.anyio
PATH = {"type": "string", "format": "path"}
HIDDEN = {"if": {"type": "string"}, "then": PATH}


def tool(**keys):
    base = {"description": "Do it.", "command": ["cat", "--", "{{ p }}"], "effect": "read"}
    return {"tools.d/t.yaml": json.dumps({"tools": {"t": {**base, **keys}}})}


def whole(schema):
    return {"type": "object", "properties": {"p": schema}, "required": ["p"]}


def faults(tmp_path, files):
    return [(one.code, one.path) for one in load(write_files(tmp_path, files)).diagnostics]


@pytest.mark.parametrize(
    "keys",
    [
        {"parameters": {"p": {"anyOf": [PATH, {"type": "null"}]}}},
        {"parameters": {"p": {"allOf": [PATH]}}},
        {"parameters": {"p": {"type": "array", "items": {"type": "array", "items": PATH}}}},
        {"input_schema": {**whole({"$ref": "#/$defs/P"}), "$defs": {"P": PATH}}},
        {"input_schema": {"$ref": "./s.json"}},
    ],
)
async def test_f1_no_call_leaves_the_project_however_a_path_is_written(keys):
    files = {
        **tool(**keys),
        "tools.d/s.json": json.dumps(
            {"type": "object", "allOf": [whole(PATH)], "properties": {"p": {}}}
        ),
    }
    value = [["/etc/hostname"]] if "items" in str(keys) else "/etc/hostname"
    async with open_files(files) as rt:
        result = await rt.call("t", {"p": value})
    assert (result.status, result.error.code) == ("error", "invalid-arguments")
    assert "not absolute" in result.text


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ({"parameters": {"p": HIDDEN}}, "tools.t.parameters.p.then.format"),
        ({"input_schema": whole(HIDDEN)}, "tools.t.input_schema.properties.p.then.format"),
        ({"input_schema": {"$ref": "./s.json"}}, "tools.t.input_schema.$ref"),
    ],
)
def test_f1_a_path_that_could_not_be_enforced_stops_the_loading(tmp_path, keys, path):
    files = {**tool(**keys), "tools.d/s.json": json.dumps(whole(HIDDEN))}
    assert faults(tmp_path, files) == [("unenforced-path", path)]


async def test_a_model_is_not_shown_the_folders_of_paths():
    inner = {"type": "object", "properties": {"a": {**PATH, "root": "tools.d"}}}
    async with open_files(tool(parameters={"p": {"anyOf": [inner, {"type": "null"}]}})) as rt:
        shown = rt.snapshot.tools["t"].input_schema
    assert "root" not in json.dumps(shown)
    assert shown["properties"]["p"]["anyOf"][0]["properties"]["a"] == PATH
