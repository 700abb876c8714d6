"""`/login` and `/approvals`: where people say who they are, and decide.

Pages for a browser, which needs no scripts. Each form carries a token of its session, and what is
approved is what was shown (A12).
"""

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from toolrt.core.calls import Caller
from toolrt.core.errors import CallError
from toolrt.faces.http.approvals import approvals_of, decided, done
from toolrt.faces.http.approving import decision_of, given_page, listed_page
from toolrt.faces.http.bodies import OPEN
from toolrt.faces.http.mates import is_of_mate
from toolrt.faces.http.pages import page
from toolrt.faces.http.problems import ProblemError, forbidden
from toolrt.faces.http.sessions import Session, Sessions
from toolrt.faces.http.site import Site, body_of, head_of

Form = dict[str, str]
_FORM: Final = "application/x-www-form-urlencoded"
_HOME: Final = "/approvals"
_MOST_FIELDS: Final = 200
_TOO_MANY: Final = 429

Work = Callable[[Request, Session, Caller], Awaitable[Response]]


def routes(site: Site) -> list[Route]:
    """Logging in and out, the list, and the page of one approval."""
    pages = _Pages(site)
    both = ["GET", "POST"]
    return [
        Route("/login", pages.login, methods=both),
        Route("/logout", pages.logout, methods=["POST"]),
        Route("/approvals", pages.known(pages.listed)),
        Route("/approvals/{id}", pages.known(pages.one), methods=both),
    ]


class _Pages:
    """The pages of one server."""

    def __init__(self, site: Site) -> None:
        self._site = site
        is_secure = site.access.starting.url.startswith("https://")
        self._sessions = Sessions(site.secret, "toolrt", is_secure=is_secure)
        self._visits = Sessions(site.secret, "toolrt-visit", is_secure=is_secure)

    def known(self, work: Work) -> Callable[[Request], Awaitable[Response]]:
        """Does `work` for who is logged in and may approve, and sends who is not to do so."""

        async def endpoint(request: Request) -> Response:
            session = self._sessions.read(head_of(request))
            caller = self._site.access.still(session.proof) if session else None
            if session is None or caller is None:
                path = request.url.path
                return self._login_page(path if request.method == "GET" else _HOME, 401)
            try:
                _check_decides(caller)
                return await work(request, session, caller)
            except CallError as error:
                return _message(ProblemError.of(error))
            except ProblemError as problem:
                return _message(problem)

        return endpoint

    async def login(self, request: Request) -> Response:
        """The form, and what comes of it."""
        if request.method == "GET":
            return self._login_page(_safe(request.query_params.get("next", _HOME)))
        form, visit = await form_of(request), self._visits.read(head_of(request))
        next_ = _safe(form.get("next", _HOME))
        if visit is None or not self._visits.is_own_form(visit, form.get("csrf")):
            return self._login_page(
                next_, 403, "That form was not from here, or too old. Once more:"
            )
        try:
            known = await self._site.access.of_key(form.get("key", ""), request.scope)
        except ProblemError as problem:
            return self._login_again(next_, problem)
        if not known.proof:
            return self._login_page(next_, 403, "This token names nobody among `identities`.")
        return _moved(next_, self._sessions.cookie(self._sessions.new(known)))

    async def logout(self, request: Request) -> Response:
        """Forget who this is."""
        form, session = await form_of(request), self._sessions.read(head_of(request))
        if session is not None and not self._sessions.is_own_form(session, form.get("csrf")):
            return _message(forbidden("that form was not from here"))
        if session is not None:
            self._sessions.end(session)
            await self._tell(request, form)
        return _moved("/login", self._sessions.ended())

    async def _tell(self, request: Request, form: Form) -> None:
        """Let the other workers know, too."""
        mates = self._site.mates
        if mates is not None and not is_of_mate(request.scope):
            await mates.tell(request.scope, urlencode(form).encode())

    async def listed(self, request: Request, session: Session, caller: Caller) -> Response:
        """What waits, or everything."""
        state = "all" if request.query_params.get("state") == "all" else "open"
        approvals = approvals_of(self._site, caller)
        records = await approvals.listed(OPEN if state == "open" else ())
        viewed = await approvals.viewed(*records)
        return listed_page(viewed, state, caller, self._sessions.csrf(session))

    async def one(self, request: Request, session: Session, caller: Caller) -> Response:
        """One approval; a form that was sent decides about it."""
        approvals, csrf = approvals_of(self._site, caller), self._sessions.csrf(session)
        record = await approvals.current(request.path_params["id"])
        said, status = "", 200
        if request.method == "POST":
            form = await form_of(request)
            if not self._sessions.is_own_form(session, form.get("csrf")):
                raise forbidden("that form was not from here", "open the page again")
            try:
                decision = decision_of(form, record)
                record = done(await decided(approvals, record.id, caller, decision))
                said = f"Your {'yes' if decision.decision == 'approve' else 'no'} is kept."
            except CallError as error:
                said, status = _sentences(error.message, error.hint), 409
            except ProblemError as problem:
                said, status = _sentences(problem.message, problem.hint), problem.status
            record = await approvals.current(record.id)
        [viewed] = await approvals.viewed(record)
        is_full = request.query_params.get("full") == "1"
        return given_page(viewed, caller, csrf, said, status, is_full=is_full)

    def _login_again(self, next_: str, problem: ProblemError) -> Response:
        is_braked = problem.status == _TOO_MANY
        said = f"Too many wrong keys: {problem.hint}." if is_braked else "Nobody here has this key."
        made = self._login_page(next_, problem.status, said)
        for name, value in problem.headers if is_braked else ():
            made.headers[name.decode()] = value.decode()
        return made

    def _login_page(self, next_: str, status: int = 200, said: str = "") -> Response:
        visit = self._visits.new()
        csrf = self._visits.csrf(visit)
        made = page(
            "login", status, title="Log in", csrf=csrf, next=next_, said=said, is_bad=bool(said)
        )
        made.headers["set-cookie"] = self._visits.cookie(visit)
        return made


async def form_of(request: Request) -> Form:
    """The fields of a form, each once. Raises ProblemError for what is none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _FORM:
        raise ProblemError(415, "wrong-content-type", "a form is expected here")
    try:
        pairs = parse_qsl(
            (await body_of(request)).decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS
        )
    except ValueError as error:
        raise ProblemError(400, "bad-request", "this is no form") from error
    return dict(pairs)


def _check_decides(caller: Caller) -> None:
    """Raise ProblemError for who may not approve: the pages name those who may."""
    if "approve" not in caller.may:
        hint = (
            "`may: [approve]` of an identity in toolrt.yaml lets somebody; /login takes another key"
        )
        raise forbidden(f"{caller.principal} may decide nothing here", hint)


def _safe(next_: str) -> str:
    """A page of this server; anything else is the first one."""
    parts = urlsplit(next_) if next_.isascii() and next_.isprintable() else None
    is_own = parts is not None and not parts.scheme and not parts.netloc
    return next_ if is_own and next_.startswith(_HOME) and "\\" not in next_ else _HOME


def _moved(to: str, cookie: str) -> Response:
    made = RedirectResponse(to, 303, {"cache-control": "no-store"})
    made.headers["set-cookie"] = cookie
    return made


def _sentences(message: str, hint: str | None) -> str:
    """What went wrong and what to do, for a person."""
    return " ".join(f"{each.rstrip('.')}." for each in (message, hint) if each)


def _message(problem: ProblemError) -> Response:
    title = problem.document()["title"]
    return page("message", problem.status, title=title, text=problem.message, hint=problem.hint)
