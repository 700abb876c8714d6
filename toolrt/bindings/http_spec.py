"""What a manifest says under `http`."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from toolrt.bindings.base import Spec

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
ArgsIn = Literal["query", "json", "form", "multipart", "variables"]
Output = Literal["json", "jsonl", "lines", "text", "bytes", "csv", "xml", "sse"]


class _Options(Spec):
    model_config = ConfigDict(strict=True)


class TextSpec(_Options):
    """A body as text; values in it are escaped as `type` wants it."""

    type: str
    text: str


class GraphqlSpec(_Options):
    """An operation: its text is constant, values go into its variables."""

    query: str
    variables: dict[str, Any] = Field(default_factory=dict)


class PaginateSpec(_Options):
    """How the next page is asked for, and where the items of a page are.

    `next` is `link`, or JMESPath to a link or, with `param`, to a cursor; `param` alone counts.
    """

    next: str | None = None
    param: str | None = None
    in_: Literal["query", "json", "form"] | None = Field(default=None, alias="in")
    items: str | None = None
    more: str | None = None
    pages: int = Field(default=10, ge=1, le=1000)


class HttpSpec(_Options):
    """One request. Values stand in `{{ }}`; scheme and host of `url` are constant.

    Attributes:
        url: `https://host/path`, or `/path` under the url of `target`.
        method: needed with a body; else GET.
        target: name of an entry of `targets`.
        headers: by name; null removes one of the target.
        query: a list repeats its name; what is absent vanishes.
        json_body: `json`, any value; a lone `{{ x }}` keeps its type.
        form: `{a: {b: x}}` is sent as `a[b]=x`.
        multipart: fields; a lone parameter of `format: path` sends its file.
        graphql: an operation and its variables, sent by POST.
        body: any other text, escaped by its type.
        args_in: where arguments go that no template names.
        success: statuses that are no failure; all of 2xx when not written.
        output: how the body is read; by Content-Type when not written.
        paginate: how to read all pages of a list.
        allow_private: whether private addresses may be called, or which networks.
        redirects: whether redirects are followed, at most five.
    """

    url: str
    method: Method | None = None
    target: str | None = None
    headers: dict[str, Any] = Field(default_factory=dict)
    query: dict[str, Any] = Field(default_factory=dict)
    json_body: Any = Field(default=None, alias="json")
    form: dict[str, Any] | None = None
    multipart: dict[str, Any] | None = None
    graphql: GraphqlSpec | None = None
    body: TextSpec | None = None
    args_in: ArgsIn | None = None
    success: list[Annotated[int, Field(ge=100, le=599)]] | None = Field(default=None, min_length=1)
    output: Output | None = None
    paginate: PaginateSpec | None = None
    allow_private: bool | list[str] | None = None
    redirects: bool | None = None

    @property
    def verb(self) -> str:
        """The method, which GraphQL needs not say."""
        return self.method or ("POST" if self.graphql else "GET")

    def bodies(self) -> list[str]:
        """The names of the bodies that are written."""
        written = {
            "json": self.json_body,
            "form": self.form,
            "multipart": self.multipart,
            "graphql": self.graphql,
            "body": self.body,
        }
        return [name for name, value in written.items() if value is not None]

    def has_body(self) -> bool:
        return bool(self.bodies()) or self.args_in not in {None, "query"}
