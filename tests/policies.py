"""A policy from YAML texts, and calls for it to decide."""

from pathlib import Path
from tempfile import TemporaryDirectory

from toolrt.core.calls import Caller, Invocation
from toolrt.core.clock import ManualClock
from toolrt.loading.loader import load_files
from toolrt.loading.stock import Stock
from toolrt.policy.compiler import compile_policy
from toolrt.policy.facts import ToolFacts
from toolrt.policy.history import History

PAY = {"invoice": {"type": "string"}, "amount": {"type": "number"}}


def tool(name="bank.pay", arguments=None, **more):
    """Facts of a tool, with an invoice and an amount where nothing else is said."""
    namespace, _, _ = name.rpartition(".")
    root = {
        "name": name,
        "namespace": namespace,
        "version": "",
        "tags": more.pop("tags", []),
        "effect": more.get("effect", "write"),
        "source": "",
    }
    return ToolFacts(name, root, arguments=PAY if arguments is None else arguments, **more)


def loaded(files, tools=None, history=None):
    """The policy of some files, and everything that is wrong with them."""
    with TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        read = load_files(Stock(Path(folder)))
        facts = {each.name: each for each in tools or [tool()]}
        made = compile_policy(read, facts, history or History())
        return made, read.diagnostics()


def policy(text, tools=None, history=None):
    """The policy of one file that has no errors."""
    made, found = loaded({"policies.d/p.yaml": text}, tools, history)
    assert [each for each in found if each.severity == "error"] == []
    return made


def call(arguments=None, caller=None, clock=None):
    """A call with final arguments."""
    clock = clock or ManualClock()
    now = clock.monotonic()
    given = {"invoice": "A1", "amount": 900} if arguments is None else arguments
    return Invocation("c1", "bank.pay", given, caller or Caller("ann"), clock, now, now + 60)


def decided(text, arguments=None, caller=None, tools=None):
    """What the policy says of one call of `bank.pay`."""
    return policy(text, tools).tools["bank.pay"].decide(call(arguments, caller))
