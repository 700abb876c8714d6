"""One typo is one error, at its place: what follows from it is not told beside it."""

import pytest

from toolrt.runtime import load
from toolrt.testing import write_files

SHOP = """\
namespace: shop
targets:
  api: {url: http://127.0.0.1:9}
defaults:
  http: {target: api}
tools:
  search:
    description: Books.
    parameters: {about: string}
    http: {url: /books, query: {about: "{{ about }}"}}
  book:
    description: One book.
    parameters: {id: string}
    http: "/books/{{ id }}"
"""
PROJECT = """\
tools_dir: tools.d
vars: {place: Earth}
defaults:
  timeout: {total: 9s}
"""
GREET = """\
tools:
  greet:
    description: Greet.
    version: 1.10
    parameters:
      path: {type: string, format: path, root: .}
      tenant: {from: caller.tenant}
    command: [echo, "{{ vars.place }}", --, "{{ path }}", "{{ tenant }}"]
    retry: {attempts: 2}
"""
KIT = '''\
def count(text: str, top: int = 5) -> int:
    """Count words."""
    return top
'''
COUNT = """\
tools:
  count:
    python: kit:count
    parameters:
      text: {type: string}
      top: {type: integer, default: 5}
"""
POLICY = "rules:\n  - {id: big, decide: deny, tools: ['*']}\n"
FILES = {
    "toolrt.yaml": PROJECT,
    "tools.d/shop.yaml": SHOP,
    "tools.d/greet.yaml": GREET,
    "tools.d/count.yaml": COUNT,
    "policies.d/p.yaml": POLICY,
    "kit.py": KIT,
}


def errors(folder, files):
    found = load(write_files(folder, files)).diagnostics
    return [one for one in found if one.severity == "error"]


def test_the_files_are_good(tmp_path):
    assert errors(tmp_path, FILES) == []


@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("tools.d/shop.yaml", "defaults:", "§defauls:"),
        ("tools.d/shop.yaml", "targets:", "§targest:"),
        ("tools.d/shop.yaml", "namespace:", "§namspace:"),
        ("tools.d/shop.yaml", "tools:", "§toools:"),
        ("tools.d/shop.yaml", "http: {target: api}", "§httpp: {target: api}"),
        ("tools.d/shop.yaml", "http: {target: api}", "http: {§tarqet: api}"),
        ("tools.d/shop.yaml", "http: {target: api}", "http: §[3]"),
        ("tools.d/shop.yaml", "{url: http", "{§ulr: http"),
        ("tools.d/shop.yaml", "{url: /books", "{§rul: /books"),
        ("toolrt.yaml", "vars:", "§varz:"),
        ("toolrt.yaml", "defaults:", "§defautls:"),
        ("toolrt.yaml", "tools_dir: tools.d", "tools_dir: §''"),
        ("tools.d/greet.yaml", "version:", "§vesion:"),
        ("tools.d/greet.yaml", "format:", "§fromat:"),
        ("tools.d/greet.yaml", "root:", "§rooot:"),
        ("tools.d/greet.yaml", "from:", "§frm:"),
        ("tools.d/greet.yaml", "type: string", "type: §''"),
        ("tools.d/greet.yaml", "retry: {attempts", "retry: {§atempts"),
        ("tools.d/count.yaml", "{type: string}", "{type: [§q]}"),
        ("tools.d/count.yaml", "text: {", "§textt: {"),
        ("policies.d/p.yaml", "{id:", "{§iq:"),
        ("policies.d/p.yaml", "{id:", "{§di:"),
    ],
)
def test_one_typo_is_one_error_at_its_place(tmp_path, file, right, wrong):
    text = FILES[file].replace(right, wrong, 1)
    before = text.partition("§")[0]
    found = errors(tmp_path, {**FILES, file: text.replace("§", "")})
    place = (file, before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1)
    assert [(one.file, one.line, one.column) for one in found] == [place]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("frm: caller.tenant", "from"),
        ("defaultfrom: caller.tenant", "default_from"),
        ("senstive: true", "sensitive"),
        ("alow_dash: true", "allow_dash"),
        ("rooot: .", "root"),
    ],
)
@pytest.mark.parametrize("key", ["parameters", "input_schema"])
def test_a_misspelt_word_of_ours_is_an_error_because_it_protects_nothing(
    tmp_path, key, wrong, right
):
    names = f"{{a: {{type: string, format: path, {wrong}}}}}"
    value = names if key == "parameters" else f"{{type: object, properties: {names}}}"
    text = (
        f"tools:\n  t: {{description: T., {key}: {value}, command: [echo, --, '{{{{ vars }}}}']}}"
    )
    [one] = [each for each in errors(tmp_path, {"tools.d/t.yaml": text}) if "word" in each.message]
    assert (one.code, one.hint) == ("unknown-keyword", f"did you mean `{right}`?")


@pytest.mark.parametrize("word", ["discriminator: {q: 1}", "format: phone", "examples: [3]"])
def test_a_warning_about_an_input_schema_takes_no_parameter_away(tmp_path, word):
    text = f"""
        tools:
          t:
            description: T.
            input_schema:
              type: object
              properties: {{n: {{type: string, {word}}}, m: {{type: integer}}}}
              required: [n, m]
            command: [echo, "{{{{ n }}}}", "{{{{ m }}}}"]
        """
    compiled = load(write_files(tmp_path, {"tools.d/t.yaml": text}))
    assert [one.severity for one in compiled.diagnostics] == ["warning"]
    assert compiled.snapshot is not None
    assert compiled.snapshot.tools["t"].parameters.names == {"n", "m"}


def test_the_project_file_is_no_file_of_tools(tmp_path):
    files = {
        "toolrt.yaml": "tools_dir: .\n",
        "t.yaml": "tools:\n  a: {command: [echo], description: A.}",
    }
    compiled = load(write_files(tmp_path, files))
    assert compiled.diagnostics == []
    assert compiled.snapshot is not None
    assert list(compiled.snapshot.tools) == ["a"]


def test_a_message_is_one_line_whatever_it_quotes(tmp_path):
    text = "tools:\n  a:\n    description: A.\n    command: [echo]\n    parameters:\n      b: |\n"
    text += "        one\n        two " + "x" * 500 + "\n"
    [one] = errors(tmp_path, {"tools.d/t.yaml": text})
    assert one.message.isprintable()
    assert len(one.message) < 300


def test_a_fault_is_told_once_though_its_piece_of_the_file_differs(tmp_path):
    text = "tools:\n  ? [a, b]  : {description: A tool.}\n  : 3\n"
    found = errors(tmp_path, {"tools.d/t.yaml": text})
    told = [(one.line, one.column, one.code, one.message) for one in found]
    assert len(told) == len(set(told))


def test_a_misspelt_format_of_a_path_is_an_error_because_no_root_would_hold_it(tmp_path):
    text = """
        tools:
          t:
            description: T.
            parameters: {a: {type: string, format: pth}}
            command: [ls, --, "{{ a }}"]
        """
    [one] = errors(tmp_path, {"tools.d/t.yaml": text})
    assert (one.code, one.hint) == ("unknown-format", "did you mean `path`?")


@pytest.mark.parametrize(
    "twin", ["{<<: *a, command: [echo], <<: *a}", "{<<: *a, command: [echo], foo: 1, foo: 2}"]
)
def test_a_key_that_stands_twice_is_told_once_a_place(tmp_path, twin):
    text = f"x-a: &a {{description: A.}}\ntools:\n  t: {twin}\n"
    found = errors(tmp_path, {"tools.d/t.yaml": text})
    places = [(one.line, one.column) for one in found]
    assert len(places) == len(set(places))
    assert "duplicate-key" in {one.code for one in found}


@pytest.mark.parametrize("other", ["namespace: a_b\ntools:\n  c:", "tools:\n  a_b_c:"])
def test_x2_two_tools_that_would_meet_on_the_wire_are_told(tmp_path, other):
    body = " {description: A., command: [echo]}\n"
    files = {
        "tools.d/1.yaml": f"namespace: a\ntools:\n  b_c:{body}",
        "tools.d/2.yaml": other + body,
    }
    [one] = errors(tmp_path, files)
    assert (one.code, one.file) == ("names-meet", "tools.d/2.yaml")
    assert "`a_b_c`" in one.message


def test_what_stands_under_misspelt_keys_is_told_at_its_own_place(tmp_path):
    text = """\
namespace: shop
§defalts: {timeout: {§totl: 3s}}
§toolz:
  a:
    description: A.
    §paramaters: {x: {type: §sting}, y: {§minumum: 3}}
    §comand: [echo, "{{ x }}", "{{ y }}"]
    §rety: {§atempts: 2}
"""
    places = [
        (number, at - nth + 1)
        for number, line in enumerate(text.splitlines(), 1)
        for nth, at in enumerate(at for at, sign in enumerate(line) if sign == "§")
    ]
    found = errors(tmp_path, {"tools.d/t.yaml": text.replace("§", "")})
    assert [(one.line, one.column) for one in found] == places
