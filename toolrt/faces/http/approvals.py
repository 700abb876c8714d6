"""`/v1/approvals`: questions to people, their decisions, and what was approved to be run.

All of it needs a credential, on this machine too: else what asks could answer itself (X5).
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolrt.core.calls import Caller
from toolrt.core.results import SCHEMA, Failure
from toolrt.faces.approval_document import approval_document, approval_summary, without_people
from toolrt.faces.http.bodies import OPEN, ApprovalsQuery, DecisionBody, WaitQuery, asked, parsed
from toolrt.faces.http.calling import CALL, always, document_of
from toolrt.faces.http.documents import json_response
from toolrt.faces.http.problems import ProblemError, of_failure, refused
from toolrt.faces.http.site import Site, body_of, known_caller, rightful_caller
from toolrt.pipeline.answering import Standing, Supplied
from toolrt.pipeline.approvals import Approvals
from toolrt.policy.identities import reach_of
from toolrt.stores.approvals import Approval, Moved

_WHAT = "looking at approvals"
_MOST_WAIT_S = 600.0


def routes(site: Site) -> list[Route]:
    """Lists, single approvals, and what is said to them."""

    async def listed(request: Request) -> Response:
        caller = known_caller(request, _WHAT)
        query, approvals = asked(ApprovalsQuery, request.query_params), approvals_of(site, caller)
        states = {"open": OPEN, "all": ()}.get(query.state, (query.state,))
        records = await approvals.listed(states, query.limit)  # type: ignore[arg-type]  # it was checked
        viewed = await approvals.viewed(*records)
        found = [_told(approval_summary(each), caller) for each in viewed]
        return json_response({"schema": SCHEMA, "approvals": found})

    async def one(request: Request) -> Response:
        caller = known_caller(request, _WHAT)
        wait_s = asked(WaitQuery, request.query_params).wait
        approvals, wanted = approvals_of(site, caller), request.path_params["id"]
        record = await approvals.current(wanted)
        if wait_s is not None:
            request.scope[CALL] = always
            record = await approvals.wait(record.id, min(wait_s, _MOST_WAIT_S))
        return await _shown(approvals, record, caller)

    async def decision(request: Request) -> Response:
        caller = rightful_caller(request, "approve", "deciding")
        said, approvals = parsed(DecisionBody, await body_of(request)), approvals_of(site, caller)
        moved = await decided(approvals, request.path_params["id"], caller, said)
        return await _shown(approvals, done(moved), caller)

    async def cancel(request: Request) -> Response:
        caller, approvals = _caller_and_approvals(request)
        moved = await approvals.cancel(request.path_params["id"], caller)
        return await _shown(approvals, done(moved), caller)

    async def run(request: Request) -> Response:
        caller, approvals = _caller_and_approvals(request)
        result = await approvals.run(request.path_params["id"], by=caller)
        problem = refused(result)
        if problem is not None:
            raise problem
        status = 200 if result.pause is None else 202
        return json_response(document_of(result, caller, site.access), status)

    def _caller_and_approvals(request: Request) -> tuple[Caller, Approvals]:
        caller = known_caller(request, "this")
        return caller, approvals_of(site, caller)

    post = ["POST"]
    return [
        Route("/v1/approvals", listed),
        Route("/v1/approvals/{id}", one),
        Route("/v1/approvals/{id}/decision", decision, methods=post),
        Route("/v1/approvals/{id}/cancel", cancel, methods=post),
        Route("/v1/approvals/{id}/run", run, methods=post),
    ]


def approvals_of(site: Site, caller: Caller) -> Approvals:
    """The approvals that there are for somebody."""
    return site.runtime.approvals.through("http", reach_of(caller))


async def decided(approvals: Approvals, id_: str, by: Caller, said: DecisionBody) -> Moved:
    """What a decision comes to. Raises ProblemError for one that says two things."""
    if said.decision == "deny":
        return await approvals.deny(id_, by, note=said.note)
    return await approvals.approve(
        id_,
        by,
        note=said.note,
        edits=said.edits,
        standing=_standing(said),
        seen=said.seen,
        supplied=_supplied(said),
    )


def done(moved: Moved) -> Approval:
    """The record after a change. Raises ProblemError where it was not made."""
    if moved.code is None:
        return moved.record
    earlier = moved.earlier
    more: dict[str, Any] = {"state": moved.record.state}
    if earlier is not None:
        more["earlier"] = {"verdict": earlier.verdict, "actor": earlier.actor, "at": earlier.at}
    problem = of_failure(Failure(moved.code, moved.message), **more)
    problem.status = 403 if moved.code == "access-denied" else 409
    raise problem


async def _shown(approvals: Approvals, record: Approval, caller: Caller) -> Response:
    [viewed] = await approvals.viewed(record)
    return json_response(_told(approval_document(viewed), caller))


def _told(document: dict[str, Any], caller: Caller) -> dict[str, Any]:
    """A document as this caller may see it."""
    return document if "approve" in caller.may else without_people(document)


def _standing(said: DecisionBody) -> Standing | None:
    if said.for_ is None:
        if said.model_fields_set & {"scope", "uses", "free"}:
            hint = 'say how long it holds, such as "for": "1h"'
            raise ProblemError(400, "invalid-body", "there is no `for`", hint=hint)
        return None
    return Standing(said.scope, said.for_, said.uses, frozenset(said.free))


def _supplied(said: DecisionBody) -> Supplied | None:
    given = said.model_fields_set & {"result", "error"}
    if len(given) > 1:
        raise ProblemError(400, "invalid-body", "a call has a `result` or an `error`, not both")
    return Supplied(said.result, said.error) if given else None
