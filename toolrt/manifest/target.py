"""`targets`: one service, declared once over all files."""

from typing import Any

from pydantic import Field, model_validator

from toolrt.manifest.scalars import Duration
from toolrt.manifest.written import Written, require_one


class BasicAuth(Written):
    username: str
    password: str


class ApiKeyAuth(Written):
    """An API key in exactly one of a header, a query parameter or a cookie."""

    header: str | None = None
    query: str | None = None
    cookie: str | None = None
    value: str

    @model_validator(mode="after")
    def _one_place(self) -> "ApiKeyAuth":
        require_one(self, "header", "query", "cookie")
        return self


class OAuth2Auth(Written):
    token_url: str
    client_id: str
    client_secret: str
    scopes: list[str] = Field(default_factory=list)
    audience: str | None = None


class Auth(Written):
    """How a target knows us: exactly one way."""

    bearer: str | None = None
    basic: BasicAuth | None = None
    api_key: ApiKeyAuth | None = None
    oauth2: OAuth2Auth | None = None
    python: str | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "Auth":
        require_one(self, "bearer", "basic", "api_key", "oauth2", "python")
        return self


class Tls(Written):
    """`ca`: a PEM file of the project to trust; `cert` and `key`: ours, for the server."""

    ca: str | None = None
    cert: str | None = None
    key: str | None = None


class Target(Written):
    """A service: where it is, what is sent along, what it may reach.

    `timeout` is the connect timeout in seconds, in place of the tool's.
    """

    url: str
    headers: dict[str, Any] = Field(default_factory=dict)
    auth: Auth | None = None
    allow_private: bool | list[str] = False
    redirects: bool = False
    tls: Tls | None = None
    timeout: Duration | None = Field(default=None, gt=0)
