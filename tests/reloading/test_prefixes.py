"""A policy file that is cut anywhere is never more permissive while the guard holds (L6)."""

from itertools import product
from pathlib import Path

import pytest
from reloading_project import ECHO, RULES

from toolrt.bindings.base import Services
from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import ManualClock
from toolrt.loading.reader import read
from toolrt.policy.loss import all_gone, losses
from toolrt.reloading.generation import Generation
from toolrt.reloading.workspace import Workspace
from toolrt.testing import write_files

ROOT = Path(__file__).parents[2]
OWN = {
    "rules": RULES,
    "asks": """\
        # who may say yes
        approval: {approvers: {roles: [finance]}, count: 1}
        rules:
        - id: asked
          decide: ask
          tools: [echo]
          when: args.text != "x"   # everything but x
          unless: caller.principal == "ann"
          reason: somebody looks
        - {id: rest, decide: allow, tools: ["*"]}
        - id: never
          decide: deny
          tools: [echo]
          when: args.text == "loud"
        settings:
        - {tools: [echo], hitl: confirm}
        """,
    "denied": "default: deny\n",
    "allowed": "rules:\n- {id: a, decide: deny, tools: [echo], when: args.text == 'loud'}\ndefault: allow\n",
}
RANKS = {"deny": 0, "ask": 1, "allow": 2}


def examples():
    """The policy files of examples that can stand by themselves."""
    found = sorted(ROOT.glob("examples/*/policies.d/*.yaml"))
    return {str(path.relative_to(ROOT / "examples")): path.parent.parent for path in found}


def verdicts(generation):
    """How permissive the decision on each of some calls is."""
    found = {}
    for name, text, who in product(generation.snapshot.tools, ("x", "loud"), ("bot", "ann")):
        decider = generation.snapshot.tools[name].decider
        call = Invocation("c", name, {"text": text}, Caller(who), ManualClock(), 0.0, 0.0)
        found[name, text, who] = RANKS[decider.decide(call).verdict]
    return found


def never_looser(workspace, path):
    """Every prefix of the file at `path`, compiled: refused, guarded, or as strict as the whole."""
    whole = path.read_text()
    before = Generation.of(workspace.compile(workspace.stock()))
    assert before is not None
    decided = verdicts(before)
    for end in ends(whole):
        path.write_text(whole[:end])
        after = Generation.of(workspace.compile(workspace.stock()))
        if after is None or all_gone(before.protection, after.protection):
            continue
        if any(losses(before.protection, after.protection)):
            continue
        now = verdicts(after)
        looser = {key for key, rank in decided.items() if now.get(key, 0) > rank}
        assert not looser, (end, whole[:end])
    path.write_text(whole)


def ends(whole):
    """Where to cut: everywhere but where the file comes to what it came to a cut before."""
    seen = set()
    for end in range(len(whole)):
        made = read(whole[:end].encode(), "p.yaml", allow_merge=False)
        came_to = repr((made.data, bool(made.faults)))
        if came_to not in seen:
            yield end
        seen.add(came_to)


@pytest.mark.parametrize("name", OWN)
def test_every_prefix_of_a_policy_is_guarded(tmp_path, name):
    write_files(tmp_path, {"tools.d/echo.yaml": ECHO, "policies.d/p.yaml": OWN[name]})

    never_looser(Workspace(tmp_path, Services(tmp_path), {}), tmp_path / "policies.d" / "p.yaml")


@pytest.mark.parametrize("name", examples())
def test_every_prefix_of_an_example_is_guarded(tmp_path, name):
    import shutil

    project = shutil.copytree(examples()[name], tmp_path / "project")
    path = next(project.glob(f"policies.d/{Path(name).name}"))

    never_looser(Workspace(project, Services(project), {}), path)
