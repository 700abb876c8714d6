"""What each vendor's model is sent, held against the types of the official SDKs."""

import json
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from agent.scripted import DIALECTS, Model, Says
from agent.test_loop import ANN, asked
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from google.genai import types as google
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter

from toolrt.dialects.base import DIALECTS as ALL
from toolrt.dialects.wires import WIRES

pytestmark = pytest.mark.anyio

KINDS: dict[str, Any] = {
    "openai": CompletionCreateParamsNonStreaming,
    "openai_responses": ResponseCreateParamsNonStreaming,
    "anthropic": MessageCreateParamsNonStreaming,
}


async def requests(folder: Path, dialect: str) -> Model:
    """What a conversation of three turns sends."""
    script = (
        Says("I look.", (("shop_price", {"article": "tea"}), ("shop_broken", {}))),
        Says("", (("shop_stock", {"article": "tea"}),)),
        Says("Five."),
    )
    more = "instructions: Be short."
    async with asked(folder, dialect, *script, more=more) as (runtime, made):
        assert (await runtime.ask("What does tea cost?", ANN)).text == "Five."
    return made


@pytest.mark.parametrize("dialect", KINDS)
async def test_r49_requests_are_what_the_sdk_sends(tmp_path: Path, dialect: str) -> None:
    made = await requests(tmp_path, dialect)
    for body in made.requests:
        TypeAdapter(KINDS[dialect]).validate_python(body)
        assert body.keys() <= get_type_hints(KINDS[dialect]).keys()
        assert body["model"] == "clever"


async def test_r49_requests_to_google_are_what_its_sdk_sends(tmp_path: Path) -> None:
    made = await requests(tmp_path, "google")
    for body in made.requests:
        assert body.keys() == {"contents", "generationConfig", "systemInstruction", "tools"}
        for content in [*body["contents"], body["systemInstruction"]]:
            read = google.Content.model_validate(content)
            assert json.loads(read.model_dump_json(by_alias=True, exclude_none=True)) == content
        google.GenerationConfig.model_validate(body["generationConfig"])


def test_every_dialect_of_a_vendor_has_its_wire() -> None:
    assert {*WIRES} == {*DIALECTS} == {*ALL} - {"mcp", "python"}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "response",
    [
        None,
        [],
        {},
        {"choices": [{}]},
        {"output": None},
        {"content": 3},
        {"candidates": [{"content": {"parts": None}}]},
    ],
)
def test_nothing_is_said_by_an_answer_that_is_none(dialect: str, response: Any) -> None:
    wire = WIRES[dialect]
    assert wire.text(response) == ""
    assert all(isinstance(each, dict) for each in wire.said(response))
