"""A project whose payments ask a person, for the tests of `toolrt approvals`."""

import json

TOOLS = """\
namespace: bank
tools:
  pay:
    description: Pay an invoice.
    parameters:
      invoice: {type: string, description: Its number.}
      amount: {type: number, exclusiveMinimum: 0}
    command: [printf, "paid %s %s", "{{ invoice }}", "{{ amount }}"]
    effect: write
  refund:
    description: Refund an invoice.
    parameters:
      invoice: string
      amount: {type: number, description: How much.}
    hitl: {mode: input, fields: [amount]}
    command: [printf, "refunded %s %s", "{{ invoice }}", "{{ amount }}"]
    effect: write
  hang:
    description: Never ends.
    shell: sleep 60
    hitl: confirm
    effect: write
    timeout: 300ms
  secret:
    description: For clerks.
    shell: echo secret
    effect: read
"""

RULES = """\
rules:
  - id: large
    decide: ask
    tools: [bank.pay]
    when: args.amount > 1000
    reason: Large payments are looked at.
    approval: {scopes: [once, pattern]}
  - {id: too-large, decide: deny, tools: [bank.pay], when: args.amount > 9000, reason: Too large.}
  - {id: clerks, decide: deny, tools: [bank.secret], unless: '"clerk" in caller.roles'}
default: allow
"""

TWO = """\
rules:
  - {id: two, decide: ask, tools: [bank.pay], approval: {count: 2}}
default: allow
"""


def write_bank(project, rules=RULES):
    (project / "tools.d" / "bank.yaml").write_text(TOOLS)
    (project / "policies.d").mkdir(exist_ok=True)
    (project / "policies.d" / "bank.yaml").write_text(rules)


def identities(project, *entries):
    (project / "toolrt.yaml").write_text(f"identities: {json.dumps(entries)}\n")


def identity(name, *may, roles=()):
    return {"os_user": name, "principal": name, "may": list(may), "roles": list(roles)}


def asked(invoke, amount=2000, invoice="A1"):
    """The id of a payment that waits."""
    shown = invoke("run", "bank.pay", f"invoice={invoice}", f"amount={amount}", "-o", "json")
    assert shown.exit_code == 6, shown.output
    return json.loads(shown.stdout)["pause"]["approval_id"]


def document(shown):
    return json.loads(shown.stdout)


def state(invoke, approval):
    return document(invoke("approvals", "show", approval, "-o", "json"))["state"]
