"""Answers of the routes."""

import httpx
import pytest
from served import served
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolrt.faces.http.documents import HANDLERS

pytestmark = pytest.mark.anyio
LARGE = ["1e400", "-1e400", "1" + "0" * 400 + ".5", '[1.0, {"b": 1e309}]', "2" + "0" * 250 + "e99"]


async def test_a_bug_in_a_route_is_a_problem_like_any_other() -> None:
    async def fails(_request: Request) -> Response:
        raise KeyError("inside")

    app = Starlette(routes=[Route("/", fails)], exception_handlers=dict(HANDLERS))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        answer = await client.get("/")

    assert answer.status_code == 500
    assert answer.json()["code"] == "internal"
    assert "inside" not in answer.text.replace("failed inside", "")


@pytest.mark.parametrize("number", LARGE)
@pytest.mark.parametrize("headers", [{}, {"idempotency-key": "one"}])
async def test_a_number_too_large_to_be_one_is_no_json_whichever_way_it_goes(
    number: str, headers: dict[str, str]
) -> None:
    body = f'{{"arguments": {{"a": {number}}}}}'
    async with served() as server:
        path, kind = "/v1/tools/t.add/call", {"content-type": "application/json"}
        answer = await server.client.post(path, content=body, headers={**kind, **headers})

    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid-json"
