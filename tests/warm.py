"""The command line for tests that call it many times: most of what a call costs is its start.

A server has loaded all of toolrt and forks once for each call, into the folder, environment and
streams of whoever calls; `toolrt` of its folder hands these over, and gives the exit status back.
Everything else is as it is for a reader: a process for each call, from any shell, through `run()`.
"""

import atexit
import functools
import importlib
import marshal
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

CLIENT = """\
#!{python} -IS
import _socket, marshal, os, sys
if "serve" in sys.argv[1:2]:  # it is sent signals
    os.execv({real!r}, [{real!r}, *sys.argv[1:]])
try:
    to = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    to.connect({address!r})
    said = marshal.dumps((sys.argv[1:], os.getcwdb(), dict(os.environb), os.umask(0o22)))
    streams = b"".join(each.to_bytes(4, sys.byteorder) for each in (0, 1, 2))
    to.sendmsg([len(said).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    while said:
        said = said[to.send(said):]
except OSError:  # a stream is closed: the real one knows what that means
    os.execv({real!r}, [{real!r}, *sys.argv[1:]])
status = to.recv(1)
os._exit(status[0] if status else 1)
"""


@functools.cache
def folder() -> Path:
    """Where a `toolrt` stands that the server answers, for as long as this process lives."""
    place = tempfile.TemporaryDirectory(prefix="toolrt-warm-")
    address, client = f"{place.name}/socket", Path(place.name) / "toolrt"
    real = str(Path(sys.executable).parent / "toolrt")
    client.write_text(CLIENT.format(python=sys.executable, address=address, real=real))
    client.chmod(0o755)
    server = subprocess.Popen(
        [sys.executable, "-B", __file__, address, real],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/",
    )  # fmt: skip
    atexit.register(_end, server, place)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return client.parent


def _end(server: "subprocess.Popen[bytes]", place: "tempfile.TemporaryDirectory[str]") -> None:
    server.communicate()  # it ends with its stdin
    place.cleanup()


def serve(address: str, real: str) -> None:
    """Answer calls until stdin ends."""
    import toolrt

    for module in pkgutil.walk_packages(toolrt.__path__, "toolrt."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that answer are waited for by nobody
    os.write(1, b"ready\n")
    while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
        to, _ = listener.accept()
        if not os.fork():
            listener.close()
            _answer(to, real)
        to.close()


def _answer(to: socket.socket, real: str) -> None:
    """One call, in a process that ends with it; its parent says how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    head, streams, _, _ = socket.recv_fds(to, 4, 3)
    pid = os.fork()
    if pid:
        for each in (0, 1, 2, *streams):
            os.close(each)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        to.send(bytes([status if status >= 0 else 128 - status]))
        os._exit(0)
    said = b""
    while len(said) < int.from_bytes(head, "big"):
        said += to.recv(1 << 20)
    to.close()
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    arguments, cwd, environ, umask = marshal.loads(said)
    os.umask(umask)
    os.chdir(cwd)
    os.environ.clear()
    os.environb.update(environ)
    sys.argv, sys.path[0] = [real, *arguments], str(Path(real).parent)
    from toolrt.faces.cli.main import run

    run()


if __name__ == "__main__":
    serve(*sys.argv[1:])
