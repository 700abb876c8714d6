"""A client on loopback, and the invocation of a call that uses it."""

import time

import pytest

from toolrt.bindings.network import Client, Endpoint, Network, new_request, read_url
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import SystemClock


class Web:
    """Makes clients of one network, and sends plain requests through them."""

    def __init__(self, network):
        self.network = network
        self.invocation = invocation()

    def client(self, url, **options):
        return Client(self.network, Endpoint(read_url(url).origin, **options))

    def request(self, method, url, headers=None, body=None):
        return new_request(method, read_url(url), headers or {}, body)

    async def send(self, url, method="GET", body=None, headers=None, **options):
        """The reply to one request of its own client."""
        self.invocation = invocation()
        request = self.request(method, url, headers, body)
        return await self.client(url, **options).send(request, self.invocation)


def invocation():
    now = time.monotonic()
    return Invocation("call-1", "t.tool", {}, Caller(), SystemClock(), now, now + 30)


@pytest.fixture
async def web():
    network = Network()
    yield Web(network)
    await network.close()


@pytest.fixture
async def resolving():
    """Like `web`, with a name service of the test's own: `resolving({"name": ["address"]})`."""
    opened = []

    def make(names):
        async def resolve(host, port):
            if host not in names:
                raise OSError(f"no {host}")
            return names[host]

        opened.append(Network(resolve))
        return Web(opened[-1])

    yield make
    for network in opened:
        await network.close()
