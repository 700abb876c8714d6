"""CSV, XML and events become JSON values, or a fault that says where they are broken."""

import asyncio
import gzip
import io
import time

import pytest

from tests.http_tool import HttpTool
from tests.limits import Memory
from tests.loopback import loopback, reply
from toolrt.bindings.answers import decode, decode_xml
from toolrt.core.errors import BindingError
from toolrt.testing import open_files

LAUGHS = "".join(
    f'<!ENTITY l{n} "{"".join(f"&l{n - 1};" for _ in range(10))}">' for n in range(1, 10)
)
BOMBS = {
    "billion laughs": f'<!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]><a>&l9;</a>',
    "quadratic": f'<!DOCTYPE a [<!ENTITY b "{"x" * 50_000}">]><a>{"&b;" * 1000}</a>',
    "external": '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]><a>&b;</a>',
    "parameter": '<!DOCTYPE a [<!ENTITY % b SYSTEM "http://127.0.0.1:1/x"> %b;]><a/>',
    "external subset": '<!DOCTYPE a SYSTEM "http://127.0.0.1:1/x.dtd"><a/>',
}


def fault(output, data):
    with pytest.raises(BindingError) as failed:
        decode(output, data)
    assert failed.value.code == "bad-response"
    return failed.value.message


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"a,b\r\n1,2\r\n", [{"a": "1", "b": "2"}]),
        (b"\xef\xbb\xbfa,b\n1,2", [{"a": "1", "b": "2"}]),
        (b'a,b\n"x ""q"", y","line\r\ntwo"\n', [{"a": 'x "q", y', "b": "line\r\ntwo"}]),
        (b"a,b\n\n1,\n\n", [{"a": "1", "b": ""}]),
        (b" a ,b\n 1 ,=2+2\n", [{" a ": " 1 ", "b": "=2+2"}]),
        (b"a,b\n", []),
        (b"", []),
    ],
)
def test_csv_is_a_list_of_objects_by_its_header(data, rows):
    assert decode("csv", data) == rows


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a,b\n1,2\n1\n", "line 3 has 1 field, and the header 2"),
        (b'a,b\n"1\n2",3,4\n', "line 3 has 3 fields, and the header 2"),
        (b"a,b,a\n1,2,3\n", "two columns are named `a`"),
        (b'a\n"x', "line 2: unexpected end of data"),
        (b'a\n"x"y\n', "line 2: ',' expected after '\"'"),
        (b"a\n1\nx\0y\n", "line 3 holds a NUL character"),
        (b"a\n\xff\n", "byte 2 is not UTF-8"),
        (b"a\n" + b"1\n" * 200_001, "it has more than 200,000 rows"),
        (
            b",".join(b"%d" % n for n in range(2000)) + b"\n" + (b"," * 1999 + b"\n") * 501,
            "it has more than 1,000,000 fields",
        ),
        (b"a\n" + b"x" * 5_000_000, "line 2: field larger than field limit (131072)"),
        (b"<html>\n<p>,</p>", "line 2 has 2 fields, and the header 1"),
    ],
)
def test_what_is_no_table_is_a_bad_response_that_names_the_line(data, message):
    assert fault("csv", data) == f"the answer is not CSV: {message}"


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("<a/>", {"a": None}),
        ("<a> x </a>", {"a": "x"}),
        ('<a x="1">t</a>', {"a": {"@x": "1", "#text": "t"}}),
        ("<a><b>1</b><b>2</b><b/></a>", {"a": {"b": ["1", "2", None]}}),
        ("<a><b><c>1</c></b></a>", {"a": {"b": {"c": "1"}}}),
        ("<a>&lt;&#65;<![CDATA[<b>]]></a>", {"a": "<A<b>"}),
        ('<s:a xmlns:s="u"><s:b/></s:a>', {"s:a": {"@xmlns:s": "u", "s:b": None}}),
        ("<?xml version='1.0' encoding='iso-8859-1'?><a>é</a>", {"a": "é"}),
    ],
)
def test_xml_is_an_object_of_its_elements(data, value):
    encoding = "latin-1" if "iso-8859-1" in data else "utf-8"
    assert decode("xml", data.encode(encoding)) == value


def test_a_charset_from_elsewhere_wins_over_that_of_the_document():
    data = "<?xml version='1.0' encoding='iso-8859-1'?><a>é</a>".encode()
    assert decode_xml(data, "utf-8") == {"a": "é"}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_document_type_is_refused_before_anything_grows(bomb):
    memory, began = Memory(), time.process_time()
    assert fault("xml", bomb.encode()).endswith("it has a document type, which is not read")
    assert time.process_time() - began < 1
    assert memory.grown() < 8 * 1024 * 1024


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no element found at line 1 column 1"),
        (b"<a>\n<b></a>", "mismatched tag at line 2 column 6"),
        (b"<a>&b;</a>", "undefined entity at line 1 column 4"),
        (b"<a x='1' x='2'/>", "duplicate attribute at line 1 column 10"),
        (b"<a>" * 91 + b"</a>" * 91, "it is nested deeper than 90 elements"),
        (b"<a>" + b"<b/>" * 200_001, "it has more than 200,000 elements and attributes"),
        (b"<" + b"a" * 2000 + b"/>", "a name in it is too long"),
        (b"<?xml version='1.0' encoding='utf-7'?><a/>", "its encoding is not known"),
        (b"<?xml version='1.0' encoding='big5'?><a/>", "its encoding is not known"),
        (b"<a>\0</a>", "not well-formed (invalid token) at line 1 column 4"),
    ],
)
def test_broken_xml_is_a_bad_response_that_names_the_place(data, message):
    assert fault("xml", data) == f"the answer is not XML: {message}"


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"data: a\n\n", [("message", "a", None)]),
        (b"\xef\xbb\xbfdata:a\rdata: b\r\r", [("message", "a\nb", None)]),
        (b'id: 7\r\nevent: add\r\ndata: {"x": 1}\r\n\r\n', [("add", {"x": 1}, "7")]),
        (b"id: 7\ndata: 1\n\ndata: [DONE]\n\n", [("message", 1, "7"), ("message", "[DONE]", "7")]),
        (b": only a comment\n\nretry: 5\n\nevent: x\n\n", []),
        (b"data\n\n", [("message", "", None)]),
        (b"data: whole\n\ndata: half", [("message", "whole", None)]),
        (b"data: NaN\n\ndata: \xff\n\n", [("message", "NaN", None), ("message", "\ufffd", None)]),
        (b"", []),
    ],
)
def test_a_stream_is_a_list_of_its_events(data, events):
    wanted = [{"event": event, "data": told, "id": number} for event, told, number in events]
    assert decode("sse", data) == wanted


def test_too_many_events_are_a_bad_response():
    assert "more than 100,000 events" in fault("sse", b"data: \n\n" * 100_001)


def test_json_that_is_too_deep_in_an_event_stays_a_text():
    deep = "[" * 300 + "]" * 300
    assert decode("sse", f"data: {deep}\n\n".encode())[0]["data"] == deep


# over HTTP


async def asked(raw, **options):
    async with loopback(raw) as server:
        tool = HttpTool({"url": f"{server.url}/", **options})
        return await tool.call(), server.heard[0]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("output", "body", "value", "accept"),
    [
        ("csv", "a\r\n1\r\n", [{"a": "1"}], "text/csv, */*;q=0.1"),
        ("xml", "<a>1</a>", {"a": "1"}, "application/xml, text/xml, */*;q=0.1"),
        ("sse", "data: 1\n\n", [{"event": "message", "data": 1, "id": None}], "text/event-stream"),
    ],
)
async def test_a_tool_asks_for_what_it_reads(output, body, value, accept):
    answer, heard = await asked(reply(body, content_type="text/plain"), output=output)
    assert answer.value == value
    assert heard.headers["accept"] == accept


@pytest.mark.anyio
async def test_only_events_are_read_unasked_since_they_cannot_fail():
    answer, _ = await asked(reply("data: 1\n\n", content_type="text/event-stream"))
    assert answer.value == [{"event": "message", "data": 1, "id": None}]
    answer, _ = await asked(reply("a,b\n1\n", content_type="text/csv"))
    assert answer.value == "a,b\n1\n"


@pytest.mark.anyio
async def test_an_old_charset_of_the_header_wins():
    body = "<?xml version='1.0' encoding='utf-8'?><a>é</a>".encode("latin-1")
    got, _ = await asked(reply(body, content_type="text/xml; charset=iso-8859-1"), output="xml")
    assert got.value == {"a": "é"}


@pytest.mark.anyio
@pytest.mark.parametrize("output", ["csv", "xml", "sse"])
async def test_d78_a_bomb_in_gzip_ends_at_the_cap_whatever_it_is_read_as(output):
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        file.write(b" " * 50_000_000)
    with pytest.raises(BindingError) as failed:
        await asked(reply(packed.getvalue(), content_encoding="gzip"), output=output)
    assert failed.value.code == "output-flood"


@pytest.mark.anyio
@pytest.mark.parametrize(("output", "name"), [("csv", "CSV"), ("xml", "XML")])
async def test_d82_html_in_the_place_of_data_is_a_bad_response(output, name):
    page = reply("<html><p>Sorry,\nbye<br></html>", content_type="text/html")
    with pytest.raises(BindingError, match=f"not {name}") as failed:
        await asked(page, output=output)
    assert failed.value.code == "bad-response"


async def _dripping():
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    while True:
        yield b"data: 1\n\n"
        await asyncio.sleep(0.02)


@pytest.mark.anyio
async def test_d77_events_that_never_end_run_into_the_deadline():
    async with loopback(lambda _: _dripping()) as server:
        files = {"tools.d/t.yaml": f"""
            tools:
              watch:
                description: Events.
                http: {{url: "{server.url}/", output: sse}}
                timeout: {{attempt: 200ms}}
                retry: none
            """}  # fmt: skip
        async with open_files(files) as rt:
            assert (await rt.call("watch", {})).error.code == "timeout"
