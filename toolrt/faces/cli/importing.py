"""`toolrt import`: what is described elsewhere, written once as YAML that people go on with."""

from collections.abc import Mapping

from toolrt.faces.cli.options import Verbs

ACTIONS: Mapping[str, tuple[str, str, str]] = {
    "openapi": (
        "toolrt.faces.cli.import_openapi",
        "openapi",
        "The operations of an OpenAPI document.",
    ),
    "mcp": ("toolrt.faces.cli.import_mcp", "mcp", "The tools of an MCP server, as a source."),
    "python": ("toolrt.faces.cli.import_python", "python", "The callables of a Python object."),
}
"""Verb -> its module, its name there, and one line of help."""

EXAMPLES = (
    ("toolrt import openapi petstore.json", "what its tools look like"),
    ("toolrt import openapi petstore.json --to tools.d/pets.yaml", "a file of them"),
    ("toolrt import python shop.orders:Orders", "a file for the methods of a class"),
)

HELP = """Write tools once, as a file to go on with.

What changes there later is not followed; `sources:` in a file of tools is, at each load.
"""

verb = Verbs(
    "import",
    help=HELP,
    examples=EXAMPLES,
    actions=ACTIONS,
    subcommand_metavar="VERB [ARGUMENTS]",
)
