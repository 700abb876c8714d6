"""`toolrt reload`: asks the servers that run on the project to bring what is written into force."""

import json
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

import click

from toolrt.core.results import SCHEMA
from toolrt.faces.cli.options import Settings, Verb
from toolrt.faces.exits import Exit, Stop
from toolrt.faces.output import one_line

if TYPE_CHECKING:
    from toolrt.faces.http.keyfile import Running

_PATIENCE_S = 120


@click.command(
    "reload",
    cls=Verb,
    examples=(
        ("toolrt reload", "now, whatever is watched"),
        ("toolrt reload --accept-loss", "also where the rules protect less than before"),
    ),
)
@click.option("--accept-loss", is_flag=True, help="Let rules vanish: it is meant.")
@click.pass_obj
def verb(settings: Settings, /, *, accept_loss: bool) -> Exit:
    """Ask each server of this project to reload; what it refuses, it keeps serving as before."""
    running = _running(settings)
    answers = [_asked(each, settings, accept_loss=accept_loss) for each in running]
    outcomes = [each for each in answers if each is not None]
    if not outcomes:
        raise _none(settings)
    is_done = all(each["accepted"] for each in outcomes)
    settings.screen.show(
        {"schema": SCHEMA, "reloads": outcomes},
        lambda: "\n".join(_line(each) for each in outcomes),
        outcomes,
    )
    return Exit.OK if is_done else Exit.MANIFESTS_INVALID


def _running(settings: Settings) -> "list[Running]":
    """The servers. Raises Stop where there is none."""
    from toolrt.faces.cli.serving import project_of  # noqa: PLC0415 - `--help` loads no server
    from toolrt.faces.http.keyfile import found  # noqa: PLC0415 - as above
    from toolrt.state import DEFAULT_STATE  # noqa: PLC0415 - as above

    root = settings.project()
    servers = found((root / (project_of(root).state or DEFAULT_STATE)).parent)
    if servers:
        return servers
    raise _none(settings)


def _none(settings: Settings) -> Stop:
    return Stop(
        Exit.NOT_FOUND,
        "no server of this project runs on this machine",
        code="not-found",
        hint="elsewhere: POST /v1/reload with the key of somebody who may `admin`",
        next_=settings.command("serve"),
    )


def _asked(server: "Running", settings: Settings, *, accept_loss: bool) -> dict[str, Any] | None:
    """What a server answers; None for one that was killed and left its key file behind."""
    body = json.dumps({"accept_loss": accept_loss}).encode()
    head = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
    request = Request(f"{server.url}/v1/reload", body, head)  # noqa: S310 - of a file of our own
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=_PATIENCE_S) as reply:
            answer: dict[str, Any] = json.load(reply)
    except HTTPError as error:
        answer = _document(error)
        if "accepted" not in answer:
            raise _refused(server, answer, error, settings) from error
    except (URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, ConnectionRefusedError):
            return None
        why = getattr(reason, "strerror", None) or str(reason)
        raise _failed(server, why[:1].lower() + why[1:], settings) from error
    return {**answer, "url": server.url}


def _document(error: HTTPError) -> dict[str, Any]:
    try:
        made = json.loads(error.read())
    except ValueError:
        return {}
    return made if isinstance(made, dict) else {}


def _refused(
    server: "Running", answer: dict[str, Any], error: HTTPError, settings: Settings
) -> Stop:
    why = one_line(answer.get("detail", str(error)))
    message = f"the server at {server.url} does not reload: {why}"
    next_ = settings.command("check")
    return Stop(Exit.DENIED, message, code="access-denied", hint=answer.get("hint"), next_=next_)


def _failed(server: "Running", why: str, settings: Settings) -> Stop:
    message = f"the server at {server.url} does not reload: {one_line(why)}"
    next_ = settings.command("doctor")
    return Stop(Exit.TOOL_FAILED, message, code="unavailable", next_=next_)


def _line(outcome: dict[str, Any]) -> str:
    where = f"{outcome['url']}  generation {outcome['generation']}"
    if outcome["accepted"]:
        return f"{where}  {'reloaded' if outcome['new'] else 'nothing has changed'}"
    hint = f"; {outcome['hint']}" if outcome.get("hint") else ""
    return f"{where} stays: {one_line(outcome.get('why') or 'refused')}{one_line(hint)}"
