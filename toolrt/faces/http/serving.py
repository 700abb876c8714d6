"""Runs the application on a socket: starts, tells so, and drains when it is asked to end.

With the first TERM or INT nobody new is let in and what runs may end; after the time for that, or
with the second one, what still runs is cancelled, with its children.
"""

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import uvicorn

from toolrt.faces.http.application import application
from toolrt.faces.http.connection import Connection, State, watch
from toolrt.faces.http.site import Site

BACKLOG: Final = 1024
_LAST_S: Final = 5.0
_HUP: Final = signal.SIGHUP
_ENDS: Final = (signal.SIGTERM, signal.SIGINT)


class _Server(uvicorn.Server):
    """uvicorn without its own way with signals: it ends once `draining` is set. `on_start` is told
    when the port is open. `beside` is a socket of this worker alone.
    """

    on_start: Callable[[], None]
    draining: asyncio.Event
    beside: socket.socket | None = None

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self.draining.is_set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.beside is not None:
            made = asyncio.get_running_loop().create_unix_server(
                self._connection, sock=self.beside, backlog=BACKLOG
            )
            self.servers.append(await made)
        self.on_start()

    def _connection(self) -> Connection:
        return Connection(self.config, self.server_state, self.lifespan.state)


def bound(host: str, port: int) -> socket.socket:
    """A socket that nobody is let in by yet. Raises OSError where it is not to be had."""
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = infos[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError:
        made.close()
        raise
    made.setblocking(False)
    return made


async def serve(
    site: Site,
    listening: socket.socket,
    drain_s: float,
    on_start: Callable[[], None],
    beside: socket.socket | None = None,
) -> None:
    """Serve until somebody asks to end, then drain for at most `drain_s` seconds; at the port, and
    at a socket `beside` it.
    """
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        application(site),
        http=Connection,
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=max(1, round(drain_s)),
    )
    server = _Server(config)
    server.server_state = State()
    server.on_start, server.draining, server.beside = on_start, site.draining, beside
    watching = asyncio.create_task(watch(server.server_state.connections))
    try:
        with _signals(site, server):
            await server.serve([listening])
            if server.server_state.tasks:  # they were cancelled, and say so to who asked
                await asyncio.wait(server.server_state.tasks, timeout=_LAST_S)
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


@contextmanager
def _signals(site: Site, server: _Server) -> Iterator[None]:
    """TERM and INT end the server, HUP reloads; where one is ignored, it stays so."""
    loop, running = asyncio.get_running_loop(), set[asyncio.Task[object]]()

    def end() -> None:
        if site.draining.is_set():
            _cancel(server)
        site.draining.set()

    def reload() -> None:
        task: asyncio.Task[object] = asyncio.create_task(site.runtime.reload("hangup"))
        running.add(task)
        task.add_done_callback(running.discard)

    wanted = {**dict.fromkeys(_ENDS, end), _HUP: reload}
    is_main = threading.current_thread() is threading.main_thread()
    taken = [each for each in wanted if is_main and signal.getsignal(each) is not signal.SIG_IGN]
    for number in taken:
        loop.add_signal_handler(number, wanted[number])
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)


def _cancel(server: _Server) -> None:
    """End what runs at once."""
    server.force_exit = True
    for task in list(server.server_state.tasks):
        task.cancel()
