"""Whatever stands in a document, what is made of it loads without an error."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.openapi_documents import document, mapped
from toolrt.catalog.openapi.refs import Document
from toolrt.catalog.openapi.report import NotMappedError
from toolrt.catalog.openapi.schemas import answer_schemas, argument_schemas
from toolrt.catalog.openapi.words import ARGUMENT
from toolrt.runtime import load
from toolrt.schemas.check import schema_faults
from toolrt.testing import write_files

NAMES = st.sampled_from(["a", "b", "x-y", "id", "item", "é", "$ref", "a b", "caller", "0", ""])
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["string", "integer", "object", "array", "null", "date-time", "path", "^a(?=b)", "("]),
    st.text(max_size=4),
)  # fmt: skip
REFS = st.sampled_from(
    [f"#/components/schemas/{name}" for name in ("A", "B", "C")]
    + ["#/paths/~1x/get", "#", "http://x/y", "#/components/schemas/A/properties/a"]
).map(lambda ref: {"$ref": ref})
WORDS = st.sampled_from(
    [*ARGUMENT.checks, *ARGUMENT.holding, "nullable", "default", "description", "readOnly", "from",
     "$id", "$schema", "$defs", "example", "discriminator", "x-y", "root"]
)  # fmt: skip
JUNK = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


def schemas():
    def grown(inner):
        named = st.dictionaries(NAMES, inner, max_size=3)
        value = st.one_of(LEAVES, inner, named, st.lists(inner | LEAVES, max_size=3), JUNK)
        return st.dictionaries(WORDS, value, max_size=4)

    return st.recursive(REFS | st.dictionaries(WORDS, LEAVES, max_size=3), grown, max_leaves=12)


PARTS = st.dictionaries(st.sampled_from("ABC"), schemas(), max_size=3)


@given(schemas(), PARTS)
def test_every_schema_comes_out_as_one_without_errors(schema, parts):
    data = Document(document(components={"schemas": parts}))
    for made in (argument_schemas(data), answer_schemas(data)):
        unit = made.unit(schema, ("s",))
        try:
            defs = made.definitions([unit], ("s",))
        except NotMappedError:
            continue
        whole = {"type": "object", "properties": {"v": unit.schema}, "$defs": defs}
        assert [each for each in schema_faults(whole) if each.severity == "error"] == []


PARAMETERS = st.fixed_dictionaries(
    {"name": NAMES, "in": st.sampled_from(["path", "query", "header", "cookie", "x"])},
    optional={
        "schema": schemas(),
        "required": st.booleans(),
        "style": st.sampled_from(
            ["form", "simple", "deepObject", "spaceDelimited", "pipeDelimited", "matrix", "label"]
        ),
        "explode": st.booleans() | st.none(),
        "content": st.dictionaries(
            st.sampled_from(["application/json", "text/plain"]), st.fixed_dictionaries({"schema": schemas()})
        ),
    },
)  # fmt: skip
BODIES = st.fixed_dictionaries(
    {
        "content": st.dictionaries(
            st.sampled_from(
                ["application/json", "application/x-www-form-urlencoded", "multipart/form-data",
                 "text/plain", "*/*", "application/xml", "image/png", "a{{b}}/json"]
            ),
            st.fixed_dictionaries({"schema": schemas()}) | JUNK,
            max_size=3,
        )
    },
    optional={"required": st.booleans()},
)  # fmt: skip
OPERATIONS = st.fixed_dictionaries(
    {},
    optional={
        "operationId": NAMES,
        "parameters": st.lists(PARAMETERS | JUNK, max_size=4),
        "requestBody": BODIES | JUNK,
        "responses": st.dictionaries(
            st.sampled_from(["200", "2XX", "404", "default"]),
            st.fixed_dictionaries(
                {"content": st.fixed_dictionaries({"application/json": st.fixed_dictionaries({"schema": schemas()})})}
            )
            | JUNK,
            max_size=2,
        ),
        "security": st.lists(st.dictionaries(NAMES, st.lists(NAMES))) | JUNK,
        "servers": JUNK,
        "tags": JUNK,
        "callbacks": JUNK,
        "summary": st.text(max_size=10),
        "deprecated": st.booleans(),
    },
)  # fmt: skip
PATHS = st.dictionaries(
    st.sampled_from(["/x", "/x/{id}", "/{a}/{b}", "/{a}{b}.json", "/a b", "/$count", "/../x", "/é/{é}", "x"]),
    st.dictionaries(st.sampled_from(["get", "post", "delete", "put", "trace"]), OPERATIONS | JUNK, max_size=3)
    | JUNK,
    max_size=3,
)  # fmt: skip


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(paths=PATHS, parts=PARTS, schemes=st.dictionaries(NAMES, JUNK))
def test_every_document_loads(folder, paths, parts, schemes):
    data = document(paths, components={"schemas": parts, "securitySchemes": schemes})
    source = "sources: {api: {openapi: {spec: api.json, base_url: 'https://a.example'}}}"
    write_files(folder, {"tools.d/a.yaml": source, "api.json": json.dumps(data)})
    made = load(folder)

    assert [each for each in made.diagnostics if each.severity == "error"] == []


@given(JUNK)
def test_no_junk_breaks_the_mapping(junk):
    for key in ("paths", "components", "servers", "security", "info", "webhooks"):
        mapped({**document(), key: junk})
