"""`targets`: one service, declared once over all files."""

from typing import Any, ClassVar

from pydantic import ConfigDict, Field

from toolrt.manifest.scalars import Duration
from toolrt.manifest.written import OneOf, Written


class BasicAuth(Written):
    username: str
    password: str


class ApiKeyAuth(OneOf):
    """An API key in exactly one of a header, a query parameter or a cookie."""

    choices: ClassVar[tuple[str, ...]] = ("header", "query", "cookie")

    header: str | None = None
    query: str | None = None
    cookie: str | None = None
    value: str


class OAuth2Auth(Written):
    token_url: str
    client_id: str
    client_secret: str
    scopes: list[str] = Field(default_factory=list)
    audience: str | None = None


class Auth(OneOf):
    """How a target knows us: exactly one way."""

    choices: ClassVar[tuple[str, ...]] = ("bearer", "basic", "api_key", "oauth2", "python")

    bearer: str | None = None
    basic: BasicAuth | None = None
    api_key: ApiKeyAuth | None = None
    oauth2: OAuth2Auth | None = None
    python: str | None = None


class Tls(Written):
    """`ca`: a PEM file of the project to trust; `cert` and `key`: ours, for the server."""

    model_config = ConfigDict(
        json_schema_extra={"dependentRequired": {"cert": ["key"], "key": ["cert"]}}
    )

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
