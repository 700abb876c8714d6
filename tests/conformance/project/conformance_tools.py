"""The tools that the conformance suite calls, as any project would write them."""

import asyncio
import itertools
from pathlib import Path
from typing import Any

import toolrt

HERE = Path(__file__).parent
NAME = {"name": {"type": "string"}}
CHOICES = ["option1", "option2", "option3"]
TITLED = [
    {"const": "value1", "title": "First Option"},
    {"const": "value2", "title": "Second Option"},
    {"const": "value3", "title": "Third Option"},
]
_numbers = itertools.count(1)


def test_simple_text() -> str:
    """Answers with a text."""
    return "This is a simple text response for testing."


def test_image_content() -> bytes:
    """Answers with an image."""
    return (HERE / "dot.png").read_bytes()


def test_audio_content() -> bytes:
    """Answers with a sound."""
    return (HERE / "beep.wav").read_bytes()


def test_embedded_resource() -> dict[str, Any]:
    """Answers with a resource."""
    return _resource("test://embedded-resource", "text/plain", "This is an embedded resource.")


def test_multiple_content_types() -> list[Any]:
    """Answers with a text, an image and a resource."""
    return [
        {"type": "text", "text": "Multiple content types test:"},
        (HERE / "dot.png").read_bytes(),
        _resource("test://mixed-content-resource", "application/json", '{"test": "data"}'),
    ]


def test_error_handling() -> str:
    """Always fails."""
    raise toolrt.ToolError("This tool intentionally returns an error for testing")


async def test_tool_with_logging(context: toolrt.Context) -> str:
    """Logs three times."""
    context.log("Tool execution started")
    await asyncio.sleep(0.05)
    context.log("Tool processing data")
    await asyncio.sleep(0.05)
    context.log("Tool execution completed")
    return "done"


async def test_tool_with_progress(context: toolrt.Context) -> str:
    """Tells its progress."""
    for done in (0, 50, 100):
        context.progress(done, 100)
        await asyncio.sleep(0.05)
    return "done"


async def test_sampling(context: toolrt.Context, prompt: str) -> str:
    """Asks the client's model."""
    said = await context.sample(prompt, max_tokens=100)
    return f"LLM response: {said.text}"


async def test_elicitation(context: toolrt.Context, message: str) -> str:
    """Asks the client's user."""
    username = {"type": "string", "description": "User's response"}
    email = {"type": "string", "description": "User's email address"}
    said = await context.elicit(message, {"username": username, "email": email})
    return f"User response: {said.action}, {dict(said.content)}"


async def test_elicitation_sep1034_defaults(context: toolrt.Context) -> str:
    """Asks with default values."""
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": True},
    }
    said = await context.elicit("Please look these over", fields)
    return f"Elicitation completed: action={said.action}, content={dict(said.content)}"


async def test_elicitation_sep1330_enums(context: toolrt.Context) -> str:
    """Asks for choices, in all the ways there are."""
    fields = {
        "untitledSingle": {"type": "string", "enum": CHOICES},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": CHOICES}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    }
    said = await context.elicit("Please choose", fields)
    return f"Elicitation completed: action={said.action}, content={dict(said.content)}"


async def test_missing_capability(context: toolrt.Context) -> str:
    """Needs a client with a model."""
    return (await context.sample("Anything", max_tokens=10)).text


async def test_streaming_elicitation(context: toolrt.Context) -> str:
    """Asks the user in the middle of its work."""
    context.log("before")
    said = await context.elicit("Go on?", {"ok": {"type": "boolean"}}, key="ok")
    return said.action


async def test_logging_tool(context: toolrt.Context) -> str:
    """Logs."""
    context.log("a line")
    return "done"


def test_trigger_tool_change() -> str:
    """Adds a tool to the project."""
    name = f"extra_{next(_numbers)}"
    _write(f"tools: {{{name}: {{description: Extra., command: [/bin/true], effect: read}}}}\n")
    return name


def test_trigger_prompt_change() -> str:
    """Adds a prompt to the project."""
    name = f"extra_{next(_numbers)}"
    _write(f"prompts: {{{name}: {{text: Extra.}}}}\n")
    return name


async def test_input_required_result_elicitation(context: toolrt.Context) -> str:
    """Greets the user."""
    said = await context.elicit("What is your name?", NAME, key="user_name")
    return f"Hello, {said.content.get('name')}!"


async def test_input_required_result_sampling(context: toolrt.Context) -> str:
    """Asks for a capital."""
    question = "What is the capital of France?"
    return (await context.sample(question, max_tokens=100, key="capital_question")).text


async def test_input_required_result_list_roots(context: toolrt.Context) -> str:
    """Names the folders of the client."""
    return ", ".join(str(each["uri"]) for each in await context.roots(key="client_roots"))


async def test_input_required_result_request_state(context: toolrt.Context) -> str:
    """Asks for a yes."""
    said = await context.elicit("Please confirm", {"ok": {"type": "boolean"}}, key="confirm")
    return f"state-ok: {said.action}"


async def test_input_required_result_tampered_state(context: toolrt.Context) -> str:
    """Asks for a yes."""
    said = await context.elicit("Please confirm", {"ok": {"type": "boolean"}}, key="confirm")
    return said.action


async def test_input_required_result_multiple_inputs(context: toolrt.Context) -> str:
    """Asks the user, the model and the client at once."""
    name, greeting, roots = await asyncio.gather(
        context.elicit("What is your name?", NAME, key="user_name"),
        context.sample("Generate a greeting", max_tokens=50, key="greeting"),
        context.roots(key="client_roots"),
    )
    return f"{greeting.text} {name.content.get('name')}, {len(roots)} roots"


async def test_input_required_result_multi_round(context: toolrt.Context) -> str:
    """Asks twice."""
    name = await context.elicit("Step 1: What is your name?", NAME, key="step1")
    color = {"color": {"type": "string"}}
    said = await context.elicit("Step 2: What is your favorite color?", color, key="step2")
    return f"{name.content.get('name')} likes {said.content.get('color')}"


async def test_input_required_result_capabilities(context: toolrt.Context) -> str:
    """Asks whomever it can: the user, or else the model."""
    if context.can_ask("elicitation"):
        return (await context.elicit("Who?", NAME, key="user_name")).action
    return (await context.sample("Who?", max_tokens=10, key="model")).text


async def test_input_required_result_prompt(context: toolrt.Context) -> str:
    """Asks what a prompt is about."""
    fields = {"context": {"type": "string"}}
    said = await context.elicit("What context should the prompt use?", fields, key="user_context")
    return f"Use this context: {said.content.get('context')}"


async def greet(name: str) -> str:
    """Greets."""
    return f"Hello, {name}!"


async def slow_compute(seconds: float = 1, label: str = "") -> str:
    """Takes its time, and never less than a moment."""
    await asyncio.sleep(max(seconds, 0.7))
    return f"computed {label} for {seconds} s"


def test_mirrored(region: str) -> str:
    """Has an argument that clients repeat in a header."""
    return region


async def failing_job() -> str:
    """Fails after a while."""
    await asyncio.sleep(1)
    raise toolrt.ToolError("the job failed")


async def protocol_error_job(context: toolrt.Context) -> str:
    """Takes a while, and then needs what few clients offer."""
    await asyncio.sleep(1)
    return str(len(await context.roots()))


async def confirm_delete(context: toolrt.Context, filename: str) -> str:
    """Takes a while, and asks before it pretends to delete."""
    await asyncio.sleep(0.7)
    said = await context.elicit(f"Delete {filename}?", {"confirm": {"type": "boolean"}})
    return f"deleted {filename}" if said.content.get("confirm") else "kept"


async def multi_input(context: toolrt.Context) -> str:
    """Takes a while, and asks two things at once."""
    await asyncio.sleep(0.7)
    one, other = await asyncio.gather(
        context.elicit("Your name?", NAME, key="name"),
        context.elicit("Sure?", {"confirm": {"type": "boolean"}}, key="confirm"),
    )
    return f"{one.content.get('name')}: {other.content.get('confirm')}"


async def test_tool_with_task(context: toolrt.Context) -> str:
    """Asks, and then takes a while."""
    said = await context.elicit("What is your name?", NAME, key="user_name")
    await asyncio.sleep(1)
    return f"Hello, {said.content.get('name')}!"


async def json_schema_2020_12_tool(**given: Any) -> str:
    """Tool with JSON Schema 2020-12 features."""
    return ", ".join(sorted(given))


def _resource(uri: str, type_: str, text: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": type_, "text": text}}


def _write(text: str) -> None:
    """A file of the project in place of what was there before, whole or not at all."""
    draft = HERE / "tools.d" / "extra.draft"
    draft.write_text(text)
    draft.rename(HERE / "tools.d" / "extra.yaml")
