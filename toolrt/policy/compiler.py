"""Policy files to a `Policy`: rules checked against the tools that they can hit.

Every fault goes to the files, in its place; nothing is raised.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from typing import Any

from toolrt.core.decisions import Terms, Verdict
from toolrt.core.faults import Fault, child
from toolrt.core.faults import Path as FaultPath
from toolrt.core.globs import ByName, no_such_tool
from toolrt.loading.loader import LoadedFiles, WrittenPolicies
from toolrt.loading.reader import Document
from toolrt.manifest.policy import Approval
from toolrt.policy.approvers import approver_faults
from toolrt.policy.bounds import SessionLimits
from toolrt.policy.clauses import Clause
from toolrt.policy.conditions import Arguments, compiled, windows_of
from toolrt.policy.drafts import Draft, read_draft
from toolrt.policy.engine import NO_RULE, Posture, ToolPolicy
from toolrt.policy.facts import ToolFacts
from toolrt.policy.history import History
from toolrt.policy.kept import KeptClauses, KeptRule, Named
from toolrt.policy.policy import Policy
from toolrt.policy.terms import laid_over, own_terms, terms_of
from toolrt.schemas.phrases import visible

_UNKNOWN = ToolFacts("…", arguments=None)
"""Stands for a tool that a file may have which cannot be read."""


def compile_policy(
    files: LoadedFiles,
    tools: Mapping[str, ToolFacts],
    history: History | None = None,
    kept: KeptClauses | None = None,
) -> Policy:
    """The policy of what was loaded, over `tools` by full name.

    A tool that has errors is among them with `arguments` None, so that no rule about it is
    reported for that. `kept` are rules that may be used again.
    """
    compiling = _Compiling(files, tools, history or History(), kept or KeptClauses())
    return compiling.policy()


@dataclass
class _Compiling:
    """Rules on their way; `hits` are the names of the tools that each rule can hit."""

    files: LoadedFiles
    tools: Mapping[str, ToolFacts]
    history: History
    kept: KeptClauses
    places: dict[str, tuple[WrittenPolicies, FaultPath]] = field(default_factory=dict)
    clauses: dict[str, Clause] = field(default_factory=dict)
    hits: dict[str, list[str]] = field(default_factory=dict)
    matched: dict[str, frozenset[str]] = field(default_factory=dict)

    def policy(self) -> Policy:
        self.kept.begin(self.tools, knows_tools=self.files.knows.tools)
        for written in self.files.policies:
            self._take(written)
            self._look_at_approval(written)
        default, is_written = self._default()
        if not is_written and self.files.knows.policies:
            self._miss_rules()
        deciders = self._deciders(default)
        self.kept.turn()
        self._tell_uncovered(deciders)
        return Policy(
            deciders,
            dict(sorted(self.clauses.items())),
            self.hash,
            is_written,
            self._limits.caps,
            self._limits.bounds,
            default,
            self.hits,
        )

    def _tell_uncovered(self, deciders: Mapping[str, ToolPolicy]) -> None:
        """A tool that no rule lets through is worth a warning, at the tool.

        Not where rules have errors: the one that lets it through may be the one that is wrong.
        """
        if not self.files.knows.policies:
            return
        for written in self.files.tools:
            decider = deciders.get(written.name)
            if decider is None or decider.fixed is not NO_RULE:
                continue
            if self.tools[written.name].arguments is None:
                continue  # it has errors, which are told
            message = f"no rule lets `{written.name}` through: every call is denied"
            hint = "let an `allow` or `ask` rule name it"
            fault = Fault("no-rule", message, (), hint, "warning", on_key=True)
            self.files.report(written.document, written.path, fault)

    def _take(self, written: WrittenPolicies) -> None:
        """Compile the rules of a file, each by itself: one that is wrong hides no other."""
        for each in self.kept.rules(written.document, self._around, partial(self._rules, written)):
            path: FaultPath = ("rules", each.number)
            is_twin = each.draft.id is not None and self._is_twin(each.draft.id, written, path)
            if each.faults:
                self.files.report(written.document, path, *map(each.draft.placed, each.faults))
            if each.draft.is_sound and not is_twin:
                self.clauses[each.clause.id] = each.clause
                self.hits[each.clause.id] = each.named.hit

    def _rules(self, written: WrittenPolicies) -> Iterator[KeptRule]:
        raw = written.document.data.get("rules")
        for number in range(len(raw) if isinstance(raw, list) else 0):
            kept = self.kept.rule(written.document, self._around, number)
            draft = kept.draft if kept else read_draft(written.document, ("rules", number))
            if draft is not None:
                yield self._rule(written, number, draft, kept)

    def _rule(
        self, written: WrittenPolicies, number: int, draft: Draft, kept: KeptRule | None
    ) -> KeptRule:
        """The rule over the tools that it hits; one that was compiled over the same is kept."""
        is_named = kept is not None and not self.kept.has_other_names
        named = kept.named if kept and is_named else self._named(written, number, draft)
        if kept is not None and self.kept.holds(kept, named):
            return KeptRule(number, draft, named, kept.clause, kept.own_faults)
        faults: list[Fault] = []
        clause = self._clause(draft, named, written.policies.approval, faults)
        return KeptRule(number, draft, named, clause, faults)

    @cached_property
    def _around(self) -> object:
        """What every rule is compiled over: the project's own file, and what is known of it."""
        return self.files.project_document, self.files.knows.vars, self.files.knows.identities

    def _named(self, written: WrittenPolicies, number: int, draft: Draft) -> Named:
        faults: list[Fault] = []
        hit = self._hit(draft, faults)
        if self.files.knows.tools:
            faults += self._unknown_in_tests(child(written.document.data["rules"], number))
        return Named(hit, self._knows_what_is_hit(draft), faults)

    def _knows_what_is_hit(self, draft: Draft) -> bool:
        """Whether the rule can hit no tool but those that are known."""
        is_exact = all("*" not in each and self._matched(each) for each in draft.rule.tools)
        return draft.has_all_tools and (self.files.knows.tools or is_exact)

    def _is_twin(self, id_: str, written: WrittenPolicies, path: FaultPath) -> bool:
        """Whether another rule has that id, which is reported."""
        first = self.places.setdefault(id_, (written, path))
        if first == (written, path):
            return False
        span = first[0].document.span((*first[1], "id"))
        message = f"rule `{id_}` stands at {first[0].document.file}:{span.line} already"
        fault = Fault("duplicate-rule", message, ("id",), "an id is unique over all files")
        self.files.report(written.document, path, fault)
        self.files.knows.policies = False
        return True

    def _clause(
        self, draft: Draft, named: Named, of_file: Approval | None, faults: list[Fault]
    ) -> Clause:
        rule = draft.rule
        unknown = [] if named.is_all else [_UNKNOWN]
        arguments = Arguments.of([*(self.tools[name] for name in named.hit), *unknown])
        terms = terms_of(laid_over(rule.approval, of_file))
        if draft.is_sound and rule.decide == "ask" and rule.approval is not None:
            faults += self._lacking_approvers(terms)
        if rule.approval is not None and rule.decide != "ask" and "decide" not in draft.lacks:
            message = f"`approval` does nothing in a rule that says `{rule.decide}`"
            hint = "`decide: ask` has somebody asked"
            faults.append(Fault("no-effect", message, ("approval",), hint, "warning", on_key=True))
        if rule.mode == "audit":
            message = f"rule `{rule.id}` only watches: it decides nothing"
            hint = "`mode: enforce`, or no mode, makes it count"
            faults.append(Fault("audit-rule", message, ("mode",), hint, "warning"))
        return Clause(
            id=rule.id,
            decide=rule.decide,
            tools=tuple(rule.tools),
            when=compiled(rule.when, "when", arguments, self._constants, faults),
            unless=compiled(rule.unless, "unless", arguments, self._constants, faults),
            reason=rule.reason,
            mode=rule.mode,
            terms=terms,
        )

    def _look_at_approval(self, written: WrittenPolicies) -> None:
        """`approval` of a file holds where its rules say nothing else, and where tools ask."""
        approval = written.policies.approval
        if approval is not None:
            faults = self._lacking_approvers(terms_of(approval))
            self.files.report(written.document, (), *faults)

    def _lacking_approvers(self, terms: Terms) -> list[Fault]:
        if not self.files.knows.identities:
            return []
        return approver_faults(terms, self.files.project.identities, ("approval",))

    @cached_property
    def _constants(self) -> Mapping[str, Any] | None:
        return self.files.project.vars if self.files.knows.vars else None

    def _hit(self, draft: Draft, faults: list[Fault]) -> list[str]:
        """The tools that the globs match; a glob that matches none is worth a warning."""
        hit: set[str] = set()
        for number, glob in enumerate(draft.rule.tools):
            found = self._matched(glob)
            hit |= found
            if not found and self.files.knows.tools and "tools" not in draft.lacks:
                faults.append(no_such_tool(glob, self.tools, ("tools", number)))
        return sorted(hit)

    def _unknown_in_tests(self, entry: Any) -> Iterator[Fault]:
        """Tests of a rule, as it is written, that call no tool of this project."""
        tests = child(entry, "tests")
        for number, test in enumerate(tests if isinstance(tests, list) else ()):
            name = child(child(test, "call"), "tool")
            if isinstance(name, str) and name not in self.tools:
                yield no_such_tool(name, self.tools, ("tests", number, "call", "tool"))

    def _matched(self, glob: str) -> frozenset[str]:
        if glob not in self.matched:
            self.matched[glob] = self._by_name.matched(glob)
        return self.matched[glob]

    @cached_property
    def _by_name(self) -> ByName:
        return ByName((name, tool.root.get("version")) for name, tool in self.tools.items())

    @cached_property
    def _clauses_of(self) -> Mapping[str, list[Clause]]:
        """The rules of each tool that any can hit."""
        of: dict[str, list[Clause]] = {}
        for rule, names in self.hits.items():
            for name in names:
                of.setdefault(name, []).append(self.clauses[rule])
        return of

    def _deciders(self, default: Verdict) -> dict[str, ToolPolicy]:
        """What decides about each tool; one that would be made of the same is kept."""
        self.kept.standing((default, self._queues, self._approvals, self._limits.general))
        found: dict[str, ToolPolicy] = {}
        for name, tool in self.tools.items():
            clauses = self._clauses_of.get(name, [])
            make = partial(self._of_tool, tool, default)
            found[name] = self.kept.decider(tool, clauses, self.hash, make)
        return found

    def _of_tool(self, tool: ToolFacts, default: Verdict) -> ToolPolicy:
        clauses = self._clauses_of.get(tool.name, [])
        own, reason = own_terms(tool, self._approvals)
        default = default if tool.is_exposed else "allow"  # whoever calls it was let through
        caps, bounds = self._limits.of_tool(tool)
        posture = Posture(default, own, reason, windows_of(clauses), caps, self._queues, bounds)
        variants = [self._of_tool(each, default) for each in tool.variants]
        history, hash_ = self.history, self.hash
        return ToolPolicy(tool, clauses, posture, history, variants, policy_hash=hash_)

    @property
    def _queues(self) -> bool:
        asking = self.files.project.approvals
        return asking is None or asking.when_unattended == "queue"

    @cached_property
    def _approvals(self) -> list[Approval]:
        each = (written.policies.approval for written in self.files.policies)
        return [approval for approval in each if approval is not None]

    def _default(self) -> tuple[Verdict, bool]:
        """What holds where no rule decides, and whether any file says a word about it.

        The built-in becomes deny as soon as a file has rules or a default.
        """
        said = [each for each in self.files.policies if each.policies.default is not None]
        for each in said[1:]:
            if each.policies.default != said[0].policies.default:
                span = said[0].document.span(("default",))
                message = f"{said[0].document.file}:{span.line} says `{said[0].policies.default}`"
                fault = Fault("two-defaults", message, ("default",), "one default for all files")
                self.files.report(each.document, (), fault)
                self.files.knows.policies = False
        if any(each.policies.default == "deny" for each in said):
            return "deny", True
        if said:
            return "allow", True
        has_rules = any(each.document.data.get("rules") for each in self.files.policies)
        return ("deny", True) if has_rules else ("allow", False)

    def _miss_rules(self) -> None:
        """There are no rules: an error where they are required, and worth a warning where there is
        a place for them. Not asked where a file cannot be read, which may have some.
        """
        document, folder = self.files.project_document, self.files.project.policies_dir
        if document is not None and self.files.project.policy == "required":
            message = "`policy: required`, and no file of policies.d has rules or a default"
            hint = "write rules, or take the key away to run without"
            self.files.report(document, (), Fault("no-policy", message, ("policy",), hint))
            return
        if not self.files.policies and not (self.files.root / folder).is_dir():
            return
        first = min(
            (each.document for each in self.files.policies),
            key=lambda each: each.file,
            default=None,
        )
        said = "has no rule and no `default`: every call that can be undone is allowed"
        hint = "write rules, or `default: allow`; `policy: required` in toolrt.yaml insists on them"
        fault = Fault("no-rules", f"{visible(folder)} {said}", (), hint, "warning")
        self.files.report(first or Document(folder, ""), (), fault)

    @cached_property
    def _limits(self) -> SessionLimits:
        return SessionLimits(self.files.policies, self.tools.values())

    @cached_property
    def hash(self) -> str:
        """SHA-256 over the policy files."""
        digest = sha256()
        for written in sorted(self.files.policies, key=lambda each: each.document.file):
            text = f"{written.document.file}\0{written.document.text}\0"
            digest.update(text.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()
