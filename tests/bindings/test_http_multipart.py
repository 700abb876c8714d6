"""Multipart: fields and files; of a file only what lies below its root, and the same each time."""

import os
from email import message_from_bytes

import pytest

from tests.http_tool import HttpTool, optional
from tests.loopback import json_reply, loopback
from toolrt.bindings import http_multipart
from toolrt.bindings.paths import compile_path_rules
from toolrt.core.errors import RefusedError
from toolrt.testing import open_files

pytestmark = pytest.mark.anyio

PATH = {"type": "string", "format": "path", "root": "data"}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "data" / "sub").mkdir(parents=True)
    (tmp_path / "data" / "a.csv").write_bytes(b"x,y\r\n1,2\r\n")
    (tmp_path / "data" / "sub" / "b.bin").write_bytes(bytes(range(256)))
    (tmp_path / "secret.txt").write_text("the canary")
    return tmp_path


def bound(url, project, multipart, parameters, **options):
    given = {"multipart": multipart} if multipart is not None else {}
    options = {"url": f"{url}/", "method": "POST", **given, **options}
    return HttpTool(options, parameters, project=project)


def prepared(tool, **arguments):
    """The arguments as the validate stage hands them on."""
    rules = compile_path_rules(tool.context.input_schema, tool.context.project)
    if rules is not None:
        rules.apply(arguments)
    return arguments


async def sent(project, multipart, parameters, arguments, **options):
    """The parts that the server hears: name, file name, type and content."""
    async with loopback(json_reply("{}")) as server:
        tool = bound(server.url, project, multipart, parameters, **options)
        await tool.call(**prepared(tool, **arguments))
        heard = server.heard[0]
    head = f"Content-Type: {heard.headers['content-type']}\r\n\r\n".encode()
    message = message_from_bytes(head + heard.body)
    return [
        (
            part.get_param("name", header="content-disposition"),
            part.get_filename(),
            part.get_content_type() if part.get_filename() else None,
            part.get_payload(decode=True),
        )
        for part in message.get_payload()
    ]


async def refused(project, arguments, parameters=None):
    with pytest.raises(RefusedError) as failed:
        await sent(project, {"file": "{{ f }}"}, parameters or {"f": PATH}, arguments)
    return failed.value


async def test_a_path_parameter_that_stands_alone_sends_its_file(project):
    got = await sent(
        project, {"file": "{{ f }}", "note": "for {{ n }}", "count": 2, "on": "{{ b }}"},
        {"f": PATH, "n": "string", "b": "boolean"}, {"f": "a.csv", "n": "you", "b": True},
    )  # fmt: skip
    assert got == [
        ("file", "a.csv", "text/csv", b"x,y\r\n1,2\r\n"),
        ("note", None, None, b"for you"),
        ("count", None, None, b"2"),
        ("on", None, None, b"true"),
    ]


async def test_lists_repeat_and_what_is_absent_vanishes(project):
    got = await sent(
        project, {"files": "{{ fs }}", "tag": "{{ tags }}", "a": {"b": "{{ t }}"}, "no": "{{ no }}"},
        {
            "fs": {"type": "array", "items": PATH},
            "tags": {"type": "array", "items": {"type": "string"}},
            "t": "string", "no": optional(PATH),
        },
        {"fs": ["a.csv", "sub/b.bin"], "tags": ["x", "y"], "t": "z"},
    )  # fmt: skip
    assert [(name, file) for name, file, *_ in got] == [
        ("files", "a.csv"), ("files", "b.bin"), ("tag", None), ("tag", None), ("a[b]", None),
    ]  # fmt: skip
    assert got[1][2:] == ("application/octet-stream", bytes(range(256)))


async def test_swept_arguments_are_parts_too(project):
    got = await sent(
        project, None, {"f": PATH, "n": "string"}, {"f": "a.csv", "n": "x"}, args_in="multipart"
    )
    assert [(name, file) for name, file, *_ in got] == [("f", "a.csv"), ("n", None)]


async def test_a_path_inside_a_text_is_a_text(project):
    got = await sent(project, {"note": "see {{ f }}"}, {"f": PATH}, {"f": "a.csv"})
    assert got == [("note", None, None, b"see ./data/a.csv")]


@pytest.mark.parametrize("name", ['a"; filename="evil', "a%0D", "q;x=y", "é.csv", "back\\slash"])
async def test_a_file_name_cannot_leave_its_quotes(project, name):
    (project / "data" / name).write_bytes(b"x")
    async with loopback(json_reply("{}")) as server:
        tool = bound(server.url, project, {"file": "{{ f }}"}, {"f": PATH})
        await tool.call(**prepared(tool, f=name))
        head = server.heard[0].body.partition(b"\r\n\r\n")[0].decode()
    quoted = name.replace('"', "%22").replace("\\", "%5C")
    assert f'name="file"; filename="{quoted}"\r\n' in head
    assert head.count("\r\n") == 2


async def test_a_name_of_a_field_cannot_leave_its_line(project):
    got = await sent(
        project, {"data": "{{ o }}"}, {"o": {"type": "object"}},
        {"o": {'x"\r\nX-Evil: 1\r\n\r\n': "v"}},
    )  # fmt: skip
    assert [name for name, *_ in got] == ["data[x%22%0D%0AX-Evil: 1%0D%0A%0D%0A]"]


async def test_a_value_that_holds_the_boundary_is_refused(project):
    tool = bound("http://127.0.0.1:1", project, {"n": "{{ n }}"}, {"n": "string"})
    boundary = tool.binding._plan.body.content_type.partition("=")[2]
    with pytest.raises(RefusedError, match="part it from the next"):
        await tool.call(n=f"x\r\n--{boundary}--")


async def test_f1_no_link_is_followed_wherever_it_stands(project):
    (project / "data" / "out").symlink_to(project / "secret.txt")
    (project / "data" / "in").symlink_to("a.csv")
    (project / "data" / "folder").symlink_to("sub")
    tool = bound("http://127.0.0.1:1", project, {"file": "{{ f }}"}, {"f": PATH})
    with pytest.raises(RefusedError, match="leads out of its root"):
        prepared(tool, f="out")
    for name in ("in", "folder/b.bin"):
        error = await refused(project, {"f": name})
        assert (error.code, "link" in error.message) == ("invalid-arguments", True)


async def test_f1_a_link_that_comes_after_the_check_is_not_followed(project):
    async with loopback(json_reply("{}")) as server:
        tool = bound(server.url, project, {"file": "{{ f }}"}, {"f": PATH})
        arguments = prepared(tool, f="a.csv")
        (project / "data" / "a.csv").unlink()
        (project / "data" / "a.csv").symlink_to(project / "secret.txt")
        with pytest.raises(RefusedError, match="symbolic link"):
            await tool.call(**arguments)
        assert server.heard == []


async def test_f5_only_a_regular_file_is_sent(project):
    os.mkfifo(project / "data" / "pipe")
    for name in ("pipe", "sub", "."):
        error = await refused(project, {"f": name})
        assert (error.code, error.message) == (
            "invalid-arguments", f"the file `{name}` is no regular file",
        )  # fmt: skip


async def test_a_file_that_is_not_there_is_not_found_and_its_place_is_not_told(project):
    error = await refused(project, {"f": "sub/none.txt"})
    assert (error.code, error.message) == ("not-found", "the file `sub/none.txt` is not there")


async def test_files_are_capped(project, monkeypatch):
    monkeypatch.setattr(http_multipart, "MOST_BYTES", 1000)
    (project / "data" / "big").write_bytes(b"x" * 1001)
    error = await refused(project, {"f": "big"})
    assert "larger than what a request may carry" in error.message
    many = {"type": "array", "items": PATH}
    error = await refused(project, {"f": ["sub/b.bin"] * 4}, {"f": many})
    assert error.code == "invalid-arguments"


async def test_e10_a_repeated_request_sends_the_same_bytes_whatever_became_of_the_file(project):
    file = project / "data" / "a.csv"

    def answer(heard):
        file.write_bytes(b"changed")
        return json_reply("{}", 503 if len(server.heard) == 1 else 200)

    async with loopback(answer) as server:
        tool = bound(server.url, project, {"file": "{{ f }}"}, {"f": PATH})
        invocation = tool.invoke(prepared(tool, f="a.csv"))
        with pytest.raises(Exception, match="503"):
            await tool.binding.call(invocation)
        await tool.binding.call(invocation)
        await tool.services.close()
    assert server.heard[0].body == server.heard[1].body
    assert server.heard[0].headers == server.heard[1].headers


async def test_a_preview_names_the_files_and_reads_none(project):
    parameters = {"f": PATH, "n": "string"}
    tool = bound("http://127.0.0.1:1", project, {"file": "{{ f }}", "n": "{{ n }}"}, parameters)
    shown = tool.preview(**prepared(tool, f="nowhere.csv", n="x"))
    assert shown["body"] == [
        {"name": "file", "file": "nowhere.csv", "type": "text/csv"},
        {"name": "n", "value": "x"},
    ]


def test_a_content_type_of_ones_own_is_a_fault(project):
    headers = {"content-type": "multipart/form-data"}
    tool = bound("http://127.0.0.1:1", project, {"a": "b"}, {}, headers=headers)
    assert tool.faults == [("header-twice", ("headers", "content-type"))]


async def test_a_project_sends_a_file():
    async with loopback(lambda heard: json_reply(f"{len(heard.body)}")) as server:
        files = {
            "inbox/a.txt": "hello",
            "tools.d/t.yaml": f"""
                tools:
                  upload:
                    description: Send a file.
                    parameters: {{file: {{type: string, format: path, root: inbox}}}}
                    http: {{url: "{server.url}/", method: POST, multipart: {{file: "{{{{ file }}}}"}}}}
                """,
        }
        async with open_files(files) as rt:
            assert (await rt.call("upload", {"file": "a.txt"})).data > 100
            outside = await rt.call("upload", {"file": "../toolrt.yaml"})
            missing = await rt.call("upload", {"file": "b.txt"})
    assert outside.error.code == "invalid-arguments"
    assert missing.error.code == "not-found"
    assert len(server.heard) == 1
