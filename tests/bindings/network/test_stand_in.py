import httpx
import pytest

from toolrt.bindings.network import Client, Endpoint, Network, new_request, read_url
from toolrt.core.errors import BindingError

from .conftest import invocation

pytestmark = pytest.mark.anyio

URL = read_url("https://api.example.com/v1/%2e%2e?days=3")


async def send(answer, **options):
    """What comes back when `answer` is the transport of the network."""
    network = Network(transport=httpx.MockTransport(answer))
    running = invocation()
    request = new_request("POST", URL, {"X-Key": "k"}, b"body")
    try:
        reply = await Client(network, Endpoint(URL.origin, **options)).send(request, running)
    finally:
        await network.close()
    assert running.sent == "answered"
    return reply


async def test_a_transport_of_httpx_can_answer_in_place_of_ours():
    seen = []

    def answer(request):
        seen.append(request)
        return httpx.Response(201, json={"temp": 21})

    reply = await send(answer)

    assert (reply.status_code, reply.content) == (201, b'{"temp":21}')
    assert (seen[0].method, str(seen[0].url)) == ("POST", str(URL))
    assert (seen[0].headers["x-key"], seen[0].content) == ("k", b"body")


async def test_redirects_of_a_stand_in_are_followed_as_ever():
    def answer(request):
        if request.url.path == "/end":
            return httpx.Response(200, text=request.method)
        return httpx.Response(303, headers={"Location": "/end"})

    assert (await send(answer, follows=True)).content == b"GET"


@pytest.mark.parametrize(
    ("failure", "code", "sent"),
    [
        (httpx.ConnectError, "execution-failed", "never"),
        (httpx.ConnectTimeout, "timeout", "never"),
        (httpx.PoolTimeout, "timeout", "never"),
        (httpx.ReadTimeout, "timeout", "maybe"),
        (httpx.ReadError, "execution-failed", "maybe"),
        (httpx.RemoteProtocolError, "bad-response", "maybe"),
    ],
)
async def test_a_failure_of_httpx_is_one_of_ours(failure, code, sent):
    def answer(_request):
        raise failure("no")

    with pytest.raises(BindingError) as failed:
        await send(answer)

    assert (failed.value.code, failed.value.sent) == (code, sent)
    assert failed.value.retryable


async def test_a_stand_in_closes_with_the_network():
    closed = []

    class Closing(httpx.MockTransport):
        async def aclose(self):
            closed.append(self)

    network = Network(transport=Closing(lambda _: httpx.Response(204)))
    client = Client(network, Endpoint(URL.origin))
    await client.send(new_request("GET", URL, {}), invocation())
    assert not closed
    await network.close()
    assert closed
