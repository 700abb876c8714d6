"""References: `${env:X}` and its kin, resolved late and masked everywhere.

Grammar: `${env:X}` `${env:X:-default}` `${file:path}` `${secret:name}` `${caller:name}`
`${tenant:name}`. A reference is never part of an expression and its value is never rendered again.
A value that is empty or blank is none: a header `Bearer ` must not look like one with a token.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from toolrt.core.calls import Caller
from toolrt.core.disguises import SHORTEST
from toolrt.core.errors import CallError
from toolrt.core.faults import Fault, FaultError
from toolrt.core.names import nearest
from toolrt.core.redaction import Redactor, Secret
from toolrt.expressions.vault_command import CommandVault
from toolrt.expressions.vaults import Vault, read_file, vaults

Kind = Literal["env", "file", "secret", "caller", "tenant"]

_KINDS: tuple[Kind, ...] = ("env", "file", "secret", "caller", "tenant")
REFERENCE = re.compile(r"\$\{[^{}]*\}")
"""A whole `${…}`; what is inside may still be wrong."""

_LITERAL = 'write ${env:NAME}; a literal `${` is `{{ "$" }}{`'
_SPLIT = re.compile(r"([A-Za-z]+):(.*?)(?::-(.*))?", re.DOTALL)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class Reference:
    """One `${kind:name}`; `default` is the text after `:-`."""

    kind: Kind
    name: str
    default: str | None = None

    def __str__(self) -> str:
        return f"${{{self.kind}:{self.name}}}"


class References:
    """Resolves references for one project, and learns every secret that it hands out.

    `secrets` are the places where `${secret:x}` is looked up, in order: `env`, `{files: dir}` or
    `{command: [argv…]}`. `redactor` knows each value that was found so far.
    """

    def __init__(
        self,
        project: Path,
        environ: Mapping[str, str],
        secrets: Sequence[Any] = ("env",),
    ) -> None:
        self.project = project
        self.environ = environ
        self.redactor = Redactor()
        self._vaults: list[Vault] = vaults(secrets, project, environ)
        self._at_hand = [each for each in self._vaults if not isinstance(each, CommandVault)]

    def resolve(self, reference: Reference, caller: Caller | None = None) -> Secret:
        """The value now. Raises CallError (missing-credential) that names the place, no value.

        On an event loop a secret that comes from a command is there after `prepare` alone;
        elsewhere this blocks while the command runs.
        """
        if reference.kind == "caller":
            found = caller.credentials.get(reference.name) if caller else None
            if found is None or _filled(found.reveal()) is None:
                _refuse(reference, f"the caller brought no `{reference.name}`")
            self.redactor.learn_in_passing(found.reveal())
            return found
        text = self._look_up(reference, caller)
        if text is None and reference.default is not None:
            return Secret(reference.default)
        if text is None:
            _refuse(reference, self._absence(reference, caller))
        self._learn(reference, text)
        return Secret(text)

    @property
    def runs_commands(self) -> bool:
        """Whether looking a secret up may take a while."""
        return len(self._at_hand) < len(self._vaults)

    async def prepare(self, references: Iterable[Reference], caller: Caller | None = None) -> None:
        """Run the commands that these references wait for, off the loop, before rendering."""
        if not self.runs_commands:
            return
        wanted = list(_asked(references, caller))
        for vault in self._vaults:
            if isinstance(vault, CommandVault):
                runs = [vault.begin(*each) for each in wanted]
                for run in filter(None, runs):
                    await asyncio.wrap_future(run)
            wanted = [each for each in wanted if _filled(vault.look_up(*each)) is None]

    def missing(self, reference: Reference) -> str | None:
        """Why a reference cannot be resolved now; None when it can, or only a call can tell.

        A value that is found is a secret from now on, whichever tool may come upon it.
        """
        if reference.kind in {"caller", "tenant"}:
            return None
        if reference.kind == "secret":
            text = self._in_vaults(self._at_hand, reference, None)
        else:
            text = self._look_up(reference, None)
        if text is not None:
            self._learn(reference, text)
            return None
        may_come = reference.kind == "secret" and self.runs_commands
        if may_come or reference.default is not None:
            return None
        return self._absence(reference, None)

    def is_short(self, reference: Reference) -> bool:
        """Whether it is a secret at hand that has too few characters to be masked."""
        if reference.kind != "secret":
            return False
        text = self._in_vaults(self._at_hand, reference, None)
        return text is not None and len(text) < SHORTEST

    def unusable(self, references: Iterable[Reference]) -> list[str]:
        """All messages of `missing`."""
        found = (self.missing(reference) for reference in references)
        return [message for message in found if message is not None]

    def _learn(self, reference: Reference, text: str) -> None:
        if reference.kind == "tenant":
            self.redactor.learn_in_passing(text)
        elif text != reference.default:  # what the manifest says is no secret
            self.redactor.learn(text)

    def _look_up(self, reference: Reference, caller: Caller | None) -> str | None:
        name = reference.name
        if reference.kind == "env":
            return _filled(self.environ.get(name))
        if reference.kind == "file":
            return _filled(read_file(self.project / name))
        return self._in_vaults(self._vaults, reference, caller)

    def _in_vaults(
        self, places: Iterable[Vault], reference: Reference, caller: Caller | None
    ) -> str | None:
        asked = next(_asked((reference,), caller), None)
        answers = (_filled(vault.look_up(*asked)) for vault in places) if asked else ()
        return next((text for text in answers if text is not None), None)

    def _absence(self, reference: Reference, caller: Caller | None) -> str:
        name = reference.name
        if reference.kind == "env":
            how = "empty" if name in self.environ else "not set"
            return f"environment variable {name} is {how}"
        if reference.kind == "file":
            is_there = read_file(self.project / name) is not None
            return f"file {name} is empty" if is_there else f"file {name} cannot be read"
        if reference.kind == "tenant" and not (caller and caller.tenant):
            return f"the caller has no tenant whose `{name}` could be used"
        tenant = caller.tenant if caller and reference.kind == "tenant" else None
        places = ", ".join(self._looked(vault, name, tenant) for vault in self._vaults)
        owner = "the caller's tenant has no secret" if reference.kind == "tenant" else "no secret"
        return f"{owner} {name} (looked in {places or 'no place'})"

    def _looked(self, vault: Vault, name: str, owner: str | None) -> str:
        """Where a secret was looked for; and that there is one without a text, if so."""
        is_empty = vault in self._at_hand and vault.look_up(name, owner) is not None
        return vault.place(name, owner) + (", which is empty" if is_empty else "")


def _filled(text: str | None) -> str | None:
    """The text; None where nobody could tell it from no secret at all."""
    return text if text and not text.isspace() else None


def _asked(
    references: Iterable[Reference], caller: Caller | None
) -> Iterator[tuple[str, str | None]]:
    """What the vaults are asked for: name, and the tenant whose it is, if any."""
    tenant = caller.tenant if caller else None
    for reference in references:
        if reference.kind == "secret":
            yield reference.name, None
        elif reference.kind == "tenant" and tenant is not None and _NAME.fullmatch(tenant):
            yield reference.name, tenant


def parse(text: str, offset: int = 0) -> Reference:
    """The reference that `text`, a whole `${…}`, is.

    Raises FaultError (bad-reference) with `offset` as the place of its `$`.
    """
    body = text[2:-1]
    match = _SPLIT.fullmatch(body)
    if match is None:
        raise _fault(f"`{text}` is no reference", _hint(body), offset)
    kind, name, default = match.groups()
    known = next((each for each in _KINDS if each == kind), None)
    if known is None:
        close = nearest(kind, _KINDS, cutoff=0.6)
        all_kinds = "there are " + ", ".join(_KINDS)
        hint = f"did you mean `${{{close}:{name}}}`?" if close else all_kinds
        raise _fault(f"`{kind}` is no kind of reference", hint, offset + 2)
    if default is not None and known != "env":
        raise _fault("only `${env:…}` may have a default", None, offset)
    if not _is_name(known, name):
        raise _fault(f"`{name}` is no name for `${{{known}:…}}`", None, offset + 3 + len(known))
    return Reference(known, name, default)


def faults_of(text: str, offset: int) -> tuple[Fault, ...]:
    """What is wrong with a whole `${…}` that stands at `offset`."""
    try:
        parse(text, offset)
    except FaultError as error:
        return error.faults
    return ()


def faults_in(text: str, offset: int) -> Iterator[Fault]:
    """What is wrong with the references in a text without `{{ }}` that stands at `offset`."""
    end = 0
    for match in REFERENCE.finditer(text):
        yield from _unfinished(text[end : match.start()], offset + end)
        yield from faults_of(match[0], offset + match.start())
        end = match.end()
    yield from _unfinished(text[end:], offset + end)


def _unfinished(text: str, offset: int) -> tuple[Fault, ...]:
    """The fault of a text without whole references, at `offset`, that still holds a `${`."""
    found = text.find("${")
    if found < 0:
        return ()
    return _fault("`${` begins a reference that does not end", _LITERAL, offset + found).faults


def _is_name(kind: Kind, name: str) -> bool:
    if kind == "file":
        return bool(name.strip()) and "\0" not in name
    return (_VARIABLE if kind == "env" else _NAME).fullmatch(name) is not None


def _hint(body: str) -> str:
    return f"write ${{env:{body}}}" if _VARIABLE.fullmatch(body) else _LITERAL


def _fault(message: str, hint: str | None, offset: int) -> FaultError:
    return FaultError(Fault("bad-reference", message, hint=hint, offset=offset))


def _refuse(reference: Reference, why: str) -> NoReturn:
    raise CallError(f"{reference} has no value: {why}", code="missing-credential")
