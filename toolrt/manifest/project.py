"""`toolrt.yaml`: the project's own settings. All of it is optional."""

from typing import Annotated, Any, ClassVar, Literal

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


class Journal(Written):
    mode: Literal["batched", "sync"] = "batched"
    retention: Duration | None = None
    key: str | None = None


class Credential(Written):
    header: str


class Identity(OneOf):
    """Maps exactly one proof of identity to a caller."""

    choices: ClassVar[tuple[str, ...]] = ("token_hash", "os_user", "claim")

    token_hash: str | None = None
    os_user: str | None = None
    claim: Any = None
    principal: str
    roles: list[str] = Field(default_factory=list)
    tenant: str | None = None
    may: list[Literal["call", "approve", "admin"]] = Field(default=["call"])


class Serve(Written):
    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    public_url: str | None = None
    auth: Any = None


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


Builtin = Literal["get_user_input", "plan_and_execute", "search_tools", "call_tool"]


class ProjectFile(Written):
    """Folders, defaults under every tool, constants, where secrets are looked up.

    A key without a value, or with `null`, is as good as not written.
    """

    tools_dir: str = Field(default="tools.d", min_length=1)
    policies_dir: str = Field(default="policies.d", min_length=1)
    defaults: dict[str, Any] | None = None
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
    retrieval: Any = None
    agent: Any = None
    builtins: list[Builtin] = Field(default_factory=list)

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
