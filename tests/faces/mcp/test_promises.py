"""Output schemas: a call that went well is never an error to a client, whatever came back."""

import mcp
import pytest
from faces.mcp.serving import served

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore")]
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
CODE = """
PNG = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}


def pay(cents: str) -> dict[str, int]:
    return {"cents": cents}


def odd(cents: str) -> dict[str, int]:
    return {"cents": cents}


def hidden() -> dict[str, int]:
    return {"cents": 5, "card": 4111}


def long() -> dict[str, str]:
    return {"text": "x" * 50_000}


def many() -> list[int]:
    return list(range(50_000))


def picture() -> list[dict[str, str]]:
    return [PNG]


def count() -> int:
    return 3


def nothing() -> dict[str, int] | None:
    return None
"""
CENTS = "{type: object, properties: {cents: {type: integer}}, required: [cents]}"
TOOLS = f"""
tools:
  pay: {{description: Gives., python: "promising:pay", effect: write, output_schema: {CENTS}}}
  odd: {{description: Gives., python: "promising:odd", effect: read, output_schema: {CENTS}}}
  echo: {{description: Says., command: [echo, '{{"cents": "5"}}'], effect: read, output_schema: {CENTS}}}
  hidden: {{description: Gives., python: "promising:hidden", effect: read, output_schema: {{type: object, properties: {{card: {{type: integer}}}}}}, result: {{redact: [card]}}}}
  long: {{description: Gives., python: "promising:long", effect: read, output_schema: {{type: object}}}}
  many: {{description: Gives., python: "promising:many", effect: read, output_schema: {{type: array}}}}
  picture: {{description: Gives., python: "promising:picture", effect: read, output_schema: {{type: array}}}}
  count: {{description: Gives., python: "promising:count", effect: read, output_schema: {{type: integer}}}}
  nothing: {{description: Gives., python: "promising:nothing", effect: read, output_schema: {{type: [object, 'null']}}}}
"""
CALLS = [
    ("odd", {"cents": "5"}, '{"cents":"5"}', "does not fit"),
    ("echo", {}, '"5"', "does not fit"),
    ("hidden", {}, '"cents":5', "does not fit"),
    ("long", {}, "x" * 1000, "cut"),
    ("many", {}, "1,2,3", "cut"),
    ("picture", {}, None, "in the parts"),
    ("nothing", {}, "no output", None),
    ("count", {}, "3", None),
]


@pytest.fixture
def project(folder):
    (folder / "tools.d").mkdir()
    (folder / "tools.d" / "tools.yaml").write_text(TOOLS)
    (folder / "promising.py").write_text(CODE)
    (folder / "policies.d").mkdir()
    (folder / "policies.d" / "all.yaml").write_text("rules: []\ndefault: allow\n")
    return folder


@MODES
@pytest.mark.parametrize(("name", "arguments", "text", "notice"), CALLS)
async def test_a_client_takes_an_answer_that_is_not_what_was_promised(
    project, mode, name, arguments, text, notice
):
    async with served(project) as site, mcp.Client(site.url, mode=mode) as client:
        found = await client.call_tool(name, arguments)

    structured = found.structured_content
    is_noticed = isinstance(structured, dict) and list(structured) == ["toolrt/notice"]
    assert not found.is_error
    assert is_noticed == (notice is not None)
    assert not is_noticed or notice in structured["toolrt/notice"]
    assert text is None or text in found.content[0].text


@MODES
async def test_what_changes_something_is_no_failure_for_the_shape_of_its_answer(
    project, mode, caplog
):
    async with served(project) as site, mcp.Client(site.url, mode=mode) as client:
        right = await client.call_tool("pay", {"cents": "5"})
        again = await client.call_tool("pay", {"cents": "6"})

    told = [each for each in caplog.messages if "does not fit its output_schema" in each]
    assert (right.is_error, again.is_error) == (False, False)
    assert right.content[0].text == '{"cents":"5"}'
    assert len(told) == 1
    assert "an answer of `pay` does not fit its output_schema at `cents` (Type)" in told[0]


@MODES
async def test_what_is_for_the_user_goes_to_the_user_alone(project, mode):
    (project / "tools.d" / "users.yaml").write_text(
        """
tools:
  code: {description: A code., command: [echo, "4711"], effect: read, result: {to: user}}
  shot: {description: A shot., python: "promising:picture", effect: read, result: {to: user}}
  roll: {description: Long., command: [seq, "30000"], effect: read, result: {to: user}}
"""
    )
    async with served(project) as site, mcp.Client(site.url, mode=mode) as client:
        found = [await client.call_tool(name, {}) for name in ("code", "shot", "roll")]

    audiences = [[each.annotations.audience for each in one.content] for one in found]
    assert audiences == [
        [["assistant"], ["user"]],
        [["assistant"], ["user"], ["user"]],
        [["assistant"], ["user"], ["user"]],
    ]
    code, shot, _ = found
    assert "4711" not in code.content[0].text
    assert code.content[1].text.strip() == "4711"
    assert shot.content[2].type == "image"
    assert not any(one.is_error or one.structured_content for one in found)
