"""Policy files to a `Policy`: rules checked against the tools that they can hit.

Every fault goes to the files, in its place; nothing is raised.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from typing import Any

from toolrt.core.decisions import Caps, Verdict
from toolrt.core.faults import Fault
from toolrt.core.faults import Path as FaultPath
from toolrt.core.globs import no_such_tool, tool_pattern
from toolrt.expressions.conditions import CONDITION_KEYS
from toolrt.loading.loader import LoadedFiles, WrittenPolicies, validated
from toolrt.manifest.policy import Approval, Rule
from toolrt.policy.clauses import Clause
from toolrt.policy.conditions import Arguments, compiled, windows_of
from toolrt.policy.engine import NO_RULE, Posture, ToolPolicy
from toolrt.policy.facts import ToolFacts
from toolrt.policy.history import History
from toolrt.policy.kept import KeptClauses, Over
from toolrt.policy.policy import Policy
from toolrt.policy.terms import laid_over, own_terms, terms_of


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
        for written in self.files.policies:
            self._take(written)
        self.kept.turn()
        default, is_written = self._default()
        if self.files.project.policy == "required" and not is_written:
            self._miss_rules()
        deciders = {tool.name: self._of_tool(tool, default) for tool in self.tools.values()}
        self._tell_uncovered(deciders)
        return Policy(
            deciders,
            dict(sorted(self.clauses.items())),
            self.hash,
            is_written,
            self.caps,
            default,
        )

    def _tell_uncovered(self, deciders: Mapping[str, ToolPolicy]) -> None:
        """A tool that no rule lets through is worth a warning, at the tool.

        Not where a file has errors: the rule that lets it through may be the one that is wrong.
        """
        if self.files.has_errors():
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
        raw = written.document.data.get("rules")
        for number, entry in enumerate(raw if isinstance(raw, list) else ()):
            path: FaultPath = ("rules", number)
            rule = self.kept.rule(written.document, number, partial(_rule, written, path, entry))
            if rule is None or self._is_twin(rule, written, path):
                continue
            self.places[rule.id] = (written, path)
            self.clauses[rule.id] = self._compiled(rule, written, path)

    def _compiled(self, rule: Rule, written: WrittenPolicies, path: FaultPath) -> Clause:
        """The rule over the tools that it hits; one that was compiled over the same is kept."""
        faults: list[Fault] = []
        hit = self._hit(rule, faults)
        self.hits[rule.id] = hit
        faults += self._unknown_in_tests(rule)

        def clause() -> tuple[Clause, list[Fault]]:
            found: list[Fault] = []
            return self._clause(rule, hit, written.policies.approval, found), found

        over = Over(
            self.files.project_document,
            self.files.knows_vars,
            {name: self.tools[name].arguments for name in hit},
        )
        made, found = self.kept.clause(rule, over, clause)
        self.files.report(written.document, path, *faults, *found)
        return made

    def _is_twin(self, rule: Rule, written: WrittenPolicies, path: FaultPath) -> bool:
        first = self.places.get(rule.id)
        if first is None:
            return False
        span = first[0].document.span((*first[1], "id"))
        message = f"rule `{rule.id}` stands at {first[0].document.file}:{span.line} already"
        fault = Fault("duplicate-rule", message, ("id",), "an id is unique over all files")
        self.files.report(written.document, path, fault)
        return True

    def _clause(
        self, rule: Rule, hit: list[str], of_file: Approval | None, faults: list[Fault]
    ) -> Clause:
        arguments = Arguments.of([self.tools[name] for name in hit])
        if rule.mode == "audit":
            message = f"rule `{rule.id}` only watches: it decides nothing"
            hint = "`mode: enforce`, or no mode, makes it count"
            faults.append(Fault("audit-rule", message, ("mode",), hint, "warning"))
        return Clause(
            id=rule.id,
            decide=rule.decide,
            tools=tuple(rule.tools),
            when=compiled(rule.when, "when", arguments, self.known_keys, faults),
            unless=compiled(rule.unless, "unless", arguments, self.known_keys, faults),
            reason=rule.reason,
            mode=rule.mode,
            terms=terms_of(laid_over(rule.approval, of_file)),
        )

    @cached_property
    def known_keys(self) -> Mapping[str, frozenset[str]]:
        if not self.files.knows_vars:
            return CONDITION_KEYS
        return {**CONDITION_KEYS, "vars": frozenset(self.files.project.vars)}

    def _hit(self, rule: Rule, faults: list[Fault]) -> list[str]:
        """The tools that the globs match; a glob that matches none is worth a warning."""
        hit: set[str] = set()
        for number, glob in enumerate(rule.tools):
            found = self._matched(glob)
            hit |= found
            if not found:
                faults.append(no_such_tool(glob, self.tools, ("tools", number)))
        return sorted(hit)

    def _unknown_in_tests(self, rule: Rule) -> Iterator[Fault]:
        """Tests of a rule that call no tool of this project."""
        for number, test in enumerate(rule.tests):
            if test.call.tool not in self.tools:
                path = ("tests", number, "call", "tool")
                yield no_such_tool(test.call.tool, self.tools, path)

    def _matched(self, glob: str) -> frozenset[str]:
        if glob not in self.matched:
            if "*" not in glob:
                names: Iterable[str] = {glob} & self.tools.keys()
            else:
                fits = tool_pattern(glob).fullmatch
                names = (name for name in self.tools if fits(name))
            self.matched[glob] = frozenset(names)
        return self.matched[glob]

    @cached_property
    def _clauses_of(self) -> Mapping[str, list[Clause]]:
        """The rules of each tool that any can hit."""
        of: dict[str, list[Clause]] = {}
        for rule, names in self.hits.items():
            for name in names:
                of.setdefault(name, []).append(self.clauses[rule])
        return of

    def _of_tool(self, tool: ToolFacts, default: Verdict) -> ToolPolicy:
        clauses = self._clauses_of.get(tool.name, [])
        own, reason = own_terms(tool, self._approvals)
        windows = windows_of(clauses)
        posture = Posture(default, own, reason, windows, self.hash, self.caps, self._queues)
        variants = [self._of_tool(each, default) for each in tool.variants]
        return ToolPolicy(tool, clauses, posture, self.history, variants)

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
        if any(each.policies.default == "deny" for each in said):
            return "deny", True
        if said:
            return "allow", True
        has_rules = any(each.document.data.get("rules") for each in self.files.policies)
        return ("deny", True) if has_rules else ("allow", False)

    def _miss_rules(self) -> None:
        document = self.files.project_document
        if document is not None:
            message = "`policy: required`, and no file of policies.d has rules or a default"
            hint = "write rules, or take the key away to run without"
            self.files.report(document, (), Fault("no-policy", message, ("policy",), hint))

    @cached_property
    def caps(self) -> Caps:
        """The smallest of what the files say."""
        limits = [each.policies.limits for each in self.files.policies if each.policies.limits]
        pending = [each.pending for each in limits if each.pending is not None]
        asks = [each.asks for each in limits if each.asks is not None]
        built_in = Caps()
        return Caps(min(pending, default=built_in.pending), min(asks, default=built_in.asks))

    @cached_property
    def hash(self) -> str:
        """SHA-256 over the policy files."""
        digest = sha256()
        for written in sorted(self.files.policies, key=lambda each: each.document.file):
            text = f"{written.document.file}\0{written.document.text}\0"
            digest.update(text.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def _rule(written: WrittenPolicies, path: FaultPath, entry: Any) -> Rule | None:
    """The rule, or None when it has faults, which the loader has reported."""
    document = written.document
    return validated(Rule, entry, lambda inner: document.source_text((*path, *inner)))[0]
