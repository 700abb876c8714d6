"""What is compiled with the help of the generation before is what a fresh compile comes to, and the
guard of reloads finds the same in it, whatever was written in between.
"""

import shutil
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolrt.bindings.base import Services
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import ManualClock
from toolrt.loading.loader import load_files
from toolrt.policy.weak import weak
from toolrt.reloading.consent import asks_of
from toolrt.reloading.generation import Generation, weighed
from toolrt.reloading.workspace import Workspace
from toolrt.testing import write_files

PAY = """\
namespace: bank
tools:
  pay:
    description: Pays.
    parameters: {n: {type: integer, enum: [1, 2]}, who: {type: string, default: x}}
    effect: write
    http: {url: "https://pay.example.com/{{ n }}", query: {who: "{{ who }}"}}
    verify: {tool: look, args: {who: "{{ who }}"}, applied_when: result != null}
    freshness: {resource: "{{ who }}", read_by: [look]}
  list: {description: Lists., command: [printf, a], effect: read, tags: [calm]}
"""
LOOK = """\
targets: {api: {url: https://look.example.com}}
defaults: {timeout: 5s}
tools:
  look:
    description: Looks.
    effect: read
    parameters: {who: string}
    http: {target: api, url: "/{{ who }}", method: GET}
  peek: {description: Peeks., command: [printf, b], effect: read}
"""
RULES = """\
default: deny
rules:
- {id: few, decide: deny, tools: [bank.pay], when: args.n == 2, reason: too many}
- {id: risky, decide: ask, tools: ["bank.*"], when: risk.score > 0.3}
- {id: calm, decide: deny, tools: ["*"], when: '"wild" in tool.tags'}
- {id: often, decide: deny, tools: [look], when: history.calls("1m") > 3}
- {id: const, decide: deny, tools: [bank.pay], unless: args.who == vars.name}
- {id: rest, decide: allow, tools: ["*"]}
"""
MORE = """\
approval: {approvers: {roles: [boss]}}
rules:
- {id: also, decide: ask, tools: [peek, gone], approval: {count: 2, approvers: {roles: [boss]}}}
"""
PEOPLE = "identities: [{principal: ann, os_user: ann, roles: [boss], may: [approve]}]\n"
WRITINGS = {
    "toolrt.yaml": [
        "vars: {name: ann}\n" + PEOPLE,
        None,
        "vars: {name: bob}\n" + PEOPLE,
        "vars: {name: ann, more: 1}\n" + PEOPLE.replace("boss", "cook"),
        "vars: {name: ann}\ndefaults: {tags: [wild]}\n" + PEOPLE,
    ],
    "tools.d/pay.yaml": [
        PAY,
        PAY.replace("type: integer, ", ""),
        PAY.replace("type: integer, enum: [1, 2]", "enum: [true, 2]"),
        PAY.replace("integer, enum: [1, 2]", "integer, sensitive: true"),
        PAY.replace("effect: write", "effect: irreversible"),
        PAY.replace("pay:", "send:"),
        PAY.replace("who: {type", "whom: {type"),
        PAY.replace("[calm]", "[wild]\n    hitl: confirm".replace("\n    ", ", ")),
        "tools: [",
        None,
    ],
    "tools.d/look.yaml": [
        LOOK,
        LOOK.replace("look.example", "see.example"),
        LOOK.replace("5s", "6s"),
        LOOK.replace("peek:", "glance:"),
        LOOK.replace("  peek", "  gone: {description: G., command: [printf, c]}\n  peek"),
        "targets: [",
    ],
    "policies.d/rules.yaml": [
        RULES,
        RULES.replace("args.n == 2", "args.n == 1"),
        RULES.replace("default: deny", "default: allow"),
        RULES.replace("decide: deny, tools: [look]", "decide: ask, tools: [look]"),
        RULES.replace("- {id: often", "# {id: often"),
        RULES.replace("args.n == 2", "args.nn == 2"),
        None,
    ],
    "policies.d/more.yaml": [
        MORE,
        MORE.replace("boss", "cook"),
        MORE + "limits: {same_call: 4, pending: 7}\n",
        MORE + "settings: [{tools: [look], hitl: confirm}]\n",
        MORE + "settings: [{tools: [peek], when: caller.principal == 'ann', hitl: confirm}]\n",
        MORE + "settings: [{tools: [peek], limits: {max_calls: 3}, timeout: 9s}]\n",
        MORE + "- {id: rest, decide: deny, tools: [look]}\n",
        None,
    ],
}
EXAMPLES = Path(__file__).parents[2] / "examples"
STEPS = st.sampled_from([(path, n) for path, each in WRITINGS.items() for n in range(len(each))])


class Followed:
    """A project under one workspace, compared after each step with fresh ones."""

    def __init__(self, root):
        self.root = root
        write_files(root, {path: texts[0] for path, texts in WRITINGS.items()})
        self.kept = self.workspace()
        self.current = Generation.of(self.compiled(self.kept))
        self.fresh = Generation.of(self.compiled(self.workspace()))

    def workspace(self):
        return Workspace(self.root, Services(self.root), {})

    def compiled(self, workspace):
        return workspace.compile(workspace.stock(), 1)

    def write(self, path, text):
        (self.root / path).unlink(missing_ok=True)
        if text is not None:
            write_files(self.root, {path: text})

    def step(self, path, number):
        self.write(path, WRITINGS[path][number])
        made, fresh = self.compiled(self.kept), self.compiled(self.workspace())
        assert picture(made) == picture(fresh)
        weighings = weighed(self.current, made), weighed(self.fresh, fresh)
        assert told(weighings[0]) == told(weighings[1])
        if made.ok:
            self.current, self.fresh = weighings[0].new, weighings[1].new


def told(one):
    """What comes of a comparison with the generation in force."""
    uses = one.new and {repr(each) for each in one.new.uses}
    blocked = one.new and one.new.blocked
    return (
        one.changes.document(),
        one.gone,
        sorted(one.losses),
        one.guarded,
        one.needs_restart,
        {each.file: one.sources.get(each.file) for each in one.diagnostics},
        uses,
        blocked,
    )


def picture(compiled):
    """All that compiling came to, as plain data."""
    found = [each.document() for each in compiled.diagnostics]
    snapshot = compiled.snapshot
    if snapshot is None:
        return found
    rules = snapshot.rules
    return (
        found,
        snapshot.fingerprint,
        [each.diagnostic().document() for each in weak(compiled.files.findings)],
        {name: of_tool(each) for name, each in snapshot.tools.items()},
        (rules.hash, rules.is_written, rules.default, rules.caps),
        {id_: sorted(names) for id_, names in rules.hits.items()},
        {id_: repr(each) for id_, each in rules.clauses.items()},
        repr(snapshot.vars),
    )


def of_tool(entry):
    """One tool, with its other forms."""
    variants = entry.variants.entries.values() if entry.variants else ()
    decider = entry.decider
    shown = ("kind", "description", "effect", "file", "line", "is_idempotent", "definition_hash",
             "input_schema", "limits", "asked", "hands_text_on")  # fmt: skip
    return (
        {name: repr(getattr(entry, name)) for name in shown},
        entry.blocked and entry.blocked.reason,
        repr(entry.layered.merged),
        [each.source for each in entry.seen_as],
        repr(asks_of(entry)),
        repr((decider.tool, decider.posture, decider.fixed, decider.policy_hash, decider.caps)),
        (decider.bounds, decider.queues, decider.may_ask, decider.may_hide, decider.span_s),
        [decider.explain(call).document() for call in calls(entry.name)],
        [of_tool(each) for each in variants],
    )


def calls(name):
    return [
        Invocation("c", name, {"n": n, "who": "x"}, Caller("ann"), ManualClock(), 0.0, 0.0)
        for n in (1, 2, True)
    ]


@pytest.mark.parametrize("name", sorted(each.name for each in EXAMPLES.iterdir() if each.is_dir()))
def test_compiling_changes_nothing_of_what_was_read(tmp_path, name):
    root = shutil.copytree(EXAMPLES / name, tmp_path / "project")
    workspace = Workspace(root, Services(root), {}, imports=False)
    read = load_files(workspace.stock()).documents
    before = deepcopy([each.data for each in read])
    made = workspace.compile(workspace.stock())
    again = workspace.compile(workspace.stock())

    assert [each.data for each in made.files.documents] == before
    assert made.files.documents == again.files.documents
    assert picture(made) == picture(again)


@settings(max_examples=12, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=6))
def test_what_is_compiled_again_is_what_a_fresh_compile_comes_to(steps):
    with TemporaryDirectory() as folder:
        project = Followed(Path(folder))
        for each in steps:
            project.step(*each)


def test_a_rule_is_compiled_again_where_true_takes_the_place_of_1(tmp_path):
    project = Followed(tmp_path)
    project.step("tools.d/pay.yaml", 1)
    project.step("policies.d/rules.yaml", 1)
    project.step("tools.d/pay.yaml", 2)


@pytest.mark.parametrize("path", WRITINGS)
def test_each_writing_after_each_other_one_comes_to_what_a_fresh_compile_does(tmp_path, path):
    project = Followed(tmp_path)
    for number in range(len(WRITINGS[path])):
        project.step(path, number)
        project.step(path, 0)
