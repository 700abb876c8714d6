"""A loopback server that answers every GET with the same small JSON; prints its port."""

import asyncio

BODY = b'{"city": "Tokyo", "days": 3, "units": "metric", "price": 12.5}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(
    BODY
)


class Echo(asyncio.Protocol):
    """One connection: an answer for each end of a request's head."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.unread = transport, b""

    def data_received(self, data: bytes) -> None:
        *heads, self.unread = (self.unread + data).split(b"\r\n\r\n")
        self.transport.write((HEAD + BODY) * len(heads))  # type: ignore[attr-defined] - a socket's


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
