"""`toolrt.yaml`: the project's own settings. All of it is optional."""

import re
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Discriminator, Field, Tag, field_validator, model_validator
from pydantic_core import PydanticCustomError

from toolrt.core.names import nearest
from toolrt.manifest.scalars import Duration
from toolrt.manifest.written import OneOf, Written


class SecretFiles(Written):
    files: str


class SecretCommand(Written):
    command: list[str] = Field(min_length=1)


def _secret_source(value: Any) -> str | None:
    """Which form is meant; also where its key is misspelt."""
    if isinstance(value, dict):
        named = (nearest(str(key), ("files", "command")) for key in value)
        return next((each for each in named if each), None)
    return "env" if value == "env" else None


SecretSource = Annotated[
    Annotated[Literal["env"], Tag("env")]
    | Annotated[SecretFiles, Tag("files")]
    | Annotated[SecretCommand, Tag("command")],
    Discriminator(
        _secret_source,
        custom_error_type="secret_source",
        custom_error_message="expected env, {files: folder} or {command: [program, …]}",
    ),
]


_HASH: Final = re.compile(r"\s*(?:sha256:)?[0-9a-f]{64}\s*", re.IGNORECASE)
_PUBLIC_URL: Final = re.compile(r"https?://[^/?#@\s]+/?")
_OURS = ("authorization", "cookie", "host", "origin", "proxy-authorization")


class Journal(Written):
    mode: Literal["batched", "sync"] = "batched"
    retention: Duration | None = None
    key: str | None = None


class Credential(Written):
    header: str

    @field_validator("header")
    @classmethod
    def _is_its_own(cls, header: str) -> str:
        """What says who calls is never handed on (X4)."""
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", header):
            raise PydanticCustomError("bad_header", "expected the name of a header")
        if header.lower() in _OURS:
            message = "`{header}` says who calls, and is not handed on"
            raise PydanticCustomError("own_header", message, {"header": header})
        return header


class Identity(OneOf):
    """Maps exactly one proof of identity to a caller."""

    choices: ClassVar[tuple[str, ...]] = ("token_hash", "os_user", "claim")

    token_hash: str | None = None
    os_user: str | None = None
    claim: dict[str, str | int | bool] | None = Field(default=None, min_length=1)
    principal: str
    roles: list[str] = Field(default_factory=list)
    tenant: str | None = None
    may: list[Literal["call", "approve", "admin"]] = Field(default=["call"])


Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]


class Jwt(Written):
    """Whose signed tokens are believed: `jwks` is a URL, or a file of the project."""

    issuer: str = Field(min_length=1)
    audience: str = Field(min_length=1)
    jwks: str = Field(min_length=1)
    algorithms: list[Algorithm] = Field(default=["RS256", "ES256"], min_length=1)

    @field_validator("jwks")
    @classmethod
    def _is_private(cls, jwks: str) -> str:
        """Who can change keys on their way can be anybody."""
        if re.match(r"http://(?!(127\.0\.0\.1|localhost|\[::1\])[:/])", jwks):
            raise PydanticCustomError("bad_jwks", "keys are fetched by https, or read from a file")
        return jwks


class ServeAuth(Written):
    required: bool = False
    jwt: Jwt | None = None


def is_public_url(url: str) -> bool:
    """Whether pages can stand at the top of it."""
    return _PUBLIC_URL.fullmatch(url) is not None


def is_key_hash(written: str | None) -> bool:
    """Whether it is a SHA-256, and so one that somebody may come in with."""
    return written is not None and _HASH.fullmatch(written) is not None


class Serve(Written):
    host: str = Field(default="127.0.0.1", min_length=1)
    port: int = Field(default=8080, ge=0, le=65535)
    public_url: str | None = None
    hosts: list[str] = Field(default_factory=list)
    origins: list[str] = Field(default_factory=list)
    auth: ServeAuth | None = None

    @field_validator("hosts")
    @classmethod
    def _are_names(cls, hosts: list[str]) -> list[str]:
        """A name of anybody's would let every page in that has one."""
        for host in hosts:
            if not re.fullmatch(r"[^\s*/?#@]+", host):
                message = "`{host}` is no name of a host: write it whole, such as tools.example"
                raise PydanticCustomError("bad_host", message, {"host": host})
        return hosts

    @field_validator("origins")
    @classmethod
    def _are_origins(cls, origins: list[str]) -> list[str]:
        """`null` is what a page says that nobody knows, and there is no `*`."""
        for origin in origins:
            if not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^\s*/?#@]+/?", origin, re.IGNORECASE):
                message = "`{origin}` is no origin: write it whole, such as https://app.example"
                raise PydanticCustomError("bad_origin", message, {"origin": origin})
        return origins

    @field_validator("public_url")
    @classmethod
    def _is_whole(cls, url: str | None) -> str | None:
        """Pages stand at the top: paths are not rewritten."""
        if url is not None and not is_public_url(url):
            raise PydanticCustomError("bad_url", "expected https://host, without a path")
        return url


class Approvals(Written):
    notify: str | None = None
    when_unattended: Literal["queue", "deny"] = "queue"


class CallLines(Written):
    calls: bool = True
    arguments: Literal["off", "redacted", "hash"] = "off"


class Telemetry(Written):
    metrics: bool = True
    traces: bool = True
    logs: CallLines = CallLines()


Builtin = Literal["get_user_input", "plan_and_execute", "search_tools", "call_tool", "do"]


class Retrieval(Written):
    """How tools are found: `k` at a time; also by what texts mean, as the callable `embedder`
    (`pkg.mod:fn`, a vector for each of a list of texts) has it. Models are told `max_description`
    characters of each description at most. Where there are more than `max_told` tools, they are
    told of those of toolrt itself alone, and of those that are `always` told of.
    """

    k: int = Field(default=8, ge=1, le=100)
    embedder: str | None = Field(default=None, min_length=1)
    max_description: int | None = Field(default=None, ge=40)
    max_told: int | None = Field(default=None, ge=1)
    always: list[str] = Field(default_factory=list)


class Planner(Written):
    """How plans of models run (`plan_and_execute`): `analyst` (`pkg.mod:fn`) is asked after each
    step how to go on.
    """

    analyst: str | None = Field(default=None, min_length=1)
    max_steps: int = Field(default=20, ge=1, le=100)
    max_revisions: int = Field(default=3, ge=0, le=20)
    on_step_error: Literal["fail", "continue"] = "fail"


class AgentModel(Written):
    """A model of the vendor whose `dialect` it speaks, and the target where it is reached. One
    answer may have `max_tokens` and take `timeout` seconds.
    """

    dialect: Literal["openai", "openai_responses", "anthropic", "google"]
    name: str = Field(min_length=1)
    target: str
    max_tokens: int = Field(default=4096, ge=1)
    timeout: Duration = Field(default=120.0, gt=0)


class Agent(Written):
    """What a model is let do by itself. `toolrt ask` asks `model`, with `instructions`, until it
    answers, `max_iterations` times at most; it is shown the `candidates` tools that serve its
    question best, all where nothing is written.
    """

    planner: Planner | None = None
    model: AgentModel | None = None
    instructions: str | None = Field(default=None, min_length=1)
    candidates: int | None = Field(default=None, ge=1, le=100)
    max_iterations: int = Field(default=10, ge=1, le=1000)


class ProjectFile(Written):
    """Folders, defaults under every tool, constants, where secrets are looked up.

    A key without a value, or with `null`, is as good as not written.
    """

    tools_dir: str = Field(default="tools.d", min_length=1)
    policies_dir: str = Field(default="policies.d", min_length=1)
    defaults: dict[str, Any] | None = None
    default_version: Literal["latest", "explicit"] = "latest"
    vars: dict[str, Any] = Field(default_factory=dict)
    state: str | None = None
    policy: Literal["required"] | None = None
    journal: Journal | None = None
    secrets: list[SecretSource] = Field(default=["env"])
    credentials: dict[str, Credential] = Field(default_factory=dict)
    identities: list[Identity] = Field(default_factory=list)
    serve: Serve | None = None
    approvals: Approvals | None = None
    telemetry: Telemetry | None = None
    retrieval: Retrieval | None = None
    agent: Agent | None = None
    builtins: list[Builtin] = Field(default_factory=list)

    @property
    def knows_callers(self) -> bool:
        """Whether it says how callers of a server prove who they are."""
        auth = self.serve.auth if self.serve is not None else None
        has_keys = any(is_key_hash(each.token_hash) or each.claim for each in self.identities)
        return has_keys or (auth is not None and auth.jwt is not None)

    @field_validator("identities")
    @classmethod
    def _each_once(cls, identities: list[Identity]) -> list[Identity]:
        """One proof leads to one caller: which of two would count must not be a guess."""
        for name in ("os_user", "token_hash"):
            proofs = [getattr(each, name) for each in identities if getattr(each, name) is not None]
            twice = next((each for each in proofs if proofs.count(each) > 1), None)
            if twice is not None:
                context = {"proof": name, "value": twice}
                raise PydanticCustomError(
                    "same_proof", "{proof} {value} stands there twice", context
                )
        return identities

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {k: v for k, v in data.items() if v is not None or k not in cls.model_fields}
