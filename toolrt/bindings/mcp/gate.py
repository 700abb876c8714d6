"""Which commands may start a server: a program of a short list, and none of its ways to run others.

An entry of a manifest that starts a process is the first thing that somebody who wants one started
will bend. A program is judged with its options: what an interpreter takes as code, what a launcher
hands to a shell, what lets a container out. Options that are not known are refused, since nobody
can say whether the next word belongs to them.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from toolrt.bindings.mcp.gate_options import (
    ALLOWED,
    CODE_CLASSES,
    CODE_MODULES,
    GRAMMARS,
    INNER,
    LAUNCHERS,
    SHELLS,
    Grammar,
)

_VERSION = re.compile(r"(?<=[a-z])-?[\d.]+(t|d|m|-dbg)?$")
_OTHER_NAMES = {"nodejs": "node", "pythonw": "python"}
_OF_THE_SYSTEM = re.compile(
    r"/(home|users|var|var/lib|opt|mnt|media|private|host_mnt)?|/(home|users)/[^/]+"
    r"|(/private|/host_mnt)?/(bin|boot|dev|etc|lib\w*|proc|root|run|sbin|sys|usr|var/run|var/spool"
    r"|var/lib/(docker|containerd|containers|kubelet))(/.*)?"
)
"""Folders of this machine that no container may see."""
_OF_KEYS = frozenset({".ssh", ".aws", ".gnupg", ".docker", ".kube", ".azure"})
_DEVICES = re.compile(r"/+(dev|proc|sys)/")


class Refused(Exception):  # noqa: N818 - it carries a finding, and ends here
    """Why a command may not start a server: the number of the word, what is wrong, what to do."""

    def __init__(self, at: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.at, self.message, self.hint = at, message, hint


def refusal(argv: Sequence[str]) -> Refused | None:
    """What is wrong with a command; None where it may start a server."""
    try:
        _judge(argv, 0)
    except Refused as refused:
        return refused
    return None


def base_name(program: str) -> str:
    """The program that a name or path stands for, without a version."""
    base = program.rsplit("/", 1)[-1].lower()
    base = (base.partition("@")[0] or base).removesuffix(".exe")
    if base in GRAMMARS:
        return base
    base = _VERSION.sub("", base)
    return _OTHER_NAMES.get(base, base)


def _judge(argv: Sequence[str], first: int) -> None:
    """Judge the program at `first` and what follows. Raises Refused."""
    program = argv[first]
    base = base_name(program)
    _check_word(argv, first, base)
    if first == 0 and base not in GRAMMARS and not _is_a_path(program):
        listed = ", ".join(sorted(ALLOWED))
        hint = f"use one of {listed}; a program of your own is `./x` in the project"
        raise Refused(first, f"`{program}` is not among the programs that may start a server", hint)
    grammar = GRAMMARS.get(base) or INNER.get(base)
    if grammar is not None:
        _judge_options(argv, first, grammar)


def _check_word(argv: Sequence[str], at: int, base: str) -> None:
    """Refuse what is no program, and programs that run whatever they are told."""
    word = argv[at]
    if re.search(r"\s|[&|;`<>()]", word):
        words = ", ".join(word.split())
        raise Refused(at, "one element is one argument, and no shell reads it", f"write [{words}]")
    if base in SHELLS:
        hint = "write the program and its arguments; a script of yours is `./x` in the project"
        raise Refused(at, f"`{base}` is a shell: it would run any text", hint)
    if base in LAUNCHERS or base.startswith(("ld-", "ld.")):
        hint = "put variables under `env`" if base == "env" else "start the server itself"
        raise Refused(at, f"`{base}` starts other programs", hint)


def _is_a_path(program: str) -> bool:
    return program.startswith(("./", "/"))


def _judge_options(argv: Sequence[str], first: int, grammar: Grammar) -> None:
    at, grammar = _subcommand(argv, first, grammar)
    words = _operands(argv, at, grammar)
    operand = next(words, None)
    if operand is None:
        message = f"`{argv[first]}` has nothing to run: it would read code from its input"
        raise Refused(first, message, "name the script or the package of the server")
    word = argv[operand]
    lists_words = word.startswith("@") and not grammar.runs_programs
    is_elsewhere = word.lower().startswith(("data:", "http:")) or _DEVICES.match(word)
    if lists_words or word == "-" or is_elsewhere:
        raise Refused(operand, f"`{word}` is no program that can be looked at", "name a file")
    if grammar.runs_files and not {".", "/"} & set(word):
        raise Refused(operand, f"`{word}` is no file", "name the file of the server")
    if CODE_CLASSES.match(word) and not grammar.runs_programs:
        raise Refused(operand, f"class `{word}` runs any code", "start the server's own class")
    if grammar.reads_on:
        _check_rest(argv, operand)
    if grammar.runs_programs:
        _judge(argv, operand)


def _check_rest(argv: Sequence[str], operand: int) -> None:
    """Refuse options behind the first word, where the launcher takes them for its own."""
    if "--" in argv[:operand]:
        return
    for at in range(operand + 1, len(argv)):
        if argv[at] == "--":
            return
        if argv[at].startswith("-"):
            message = f"`{argv[at]}` would be an option of the launcher"
            raise Refused(at, message, "put `--` before what the server itself takes")


def _subcommand(argv: Sequence[str], first: int, grammar: Grammar) -> tuple[int, Grammar]:
    """Where options begin, and those of the subcommand where the program has some."""
    at = first + 1
    while grammar.subcommands:
        word = argv[at] if at < len(argv) else ""
        if word not in grammar.subcommands:
            if not grammar.needs_subcommand and not word.startswith("-"):
                break
            listed = ", ".join(sorted(grammar.subcommands))
            message = f"`{argv[first]}` starts a server by {listed} alone"
            raise Refused(min(at, len(argv) - 1), message)
        grammar, at = grammar.subcommands[word], at + 1
    return at, grammar


def _operands(argv: Sequence[str], at: int, grammar: Grammar) -> Iterator[int]:
    """Where the first word that is no option stands. Raises Refused for an unknown option."""
    while at < len(argv):
        word = argv[at]
        if word == "--":
            at += 1
            break
        if not word.startswith("-") or word == "-":
            break
        at = _past_option(argv, at, grammar)
        if at < 0:
            yield -at
            return
    if at < len(argv):
        yield at


def _past_option(argv: Sequence[str], at: int, grammar: Grammar) -> int:
    """Where the next word stands; below zero where the option itself names what is run."""
    word = argv[at]
    name, equals, joined = word.partition("=")
    if grammar.takes(name, joined if equals else None) is None:
        raise Refused(
            at, f"`{name}` is not among the options that may start a server", grammar.hint
        )
    if equals or grammar.is_flag(name):
        _check_value(name, joined, at)
        return at + 1
    if at + 1 >= len(argv):
        raise Refused(at, f"`{name}` lacks its value")
    value = argv[at + 1]
    if name in grammar.naming:
        _check_module(value, at + 1)
        return -(at + 1)
    _check_value(name, value, at + 1)
    return at + 2


def _check_module(module: str, at: int) -> None:
    if module.partition(".")[0] in CODE_MODULES:
        raise Refused(at, f"module `{module}` runs any code", "start the server's own module")


def _check_value(name: str, value: str, at: int) -> None:
    """Refuse what opens a container to the machine around it."""
    if name == "-X" and value.startswith("presite"):
        raise Refused(at, f"`{value}` loads other code first", "leave it out")
    if name in {"-v", "--volume"}:
        _check_source(value.partition(":")[0], at)
    if name == "--mount":
        _check_mount(value, at)
    if name in {"--network", "--net"} and _is_shared(value):
        message = "the container would have the network of this machine, or of another container"
        raise Refused(at, message, "leave it out")
    if name == "--env-file" and (value.startswith(("/", "~")) or ".." in value.split("/")):
        raise Refused(at, f"`{value}` is no file of this project", "put variables under `env`")
    if name == "--entrypoint" and base_name(value) in SHELLS | LAUNCHERS:
        raise Refused(at, f"`{value}` would run any text", "start the server itself")


def _is_shared(network: str) -> bool:
    """Whether a network is one that others have: `name=` is how a list of its options names it."""
    names = (each.strip(' "').removeprefix("name=") for each in network.lower().split(","))
    return any(each == "host" or each.startswith("container:") for each in names)


def _check_mount(value: str, at: int) -> None:
    """Each source counts, for the last one of several is taken, under either of its names."""
    parts = [each.partition("=") for each in value.lower().split(",")]
    is_odd = '"' in value or any(key.strip().startswith("volume-") for key, _, _ in parts)
    if is_odd:
        raise _opens(value, at)
    for key, _, source in parts:
        if key.strip() in {"src", "source"}:
            _check_source(source.strip(), at)


def _check_source(source: str, at: int) -> None:
    """Refuse a folder that opens this machine."""
    folder = str(PurePosixPath(re.sub("/+", "/", source))).lower()
    parts = set(folder.split("/"))
    is_above = ".." in parts or ".sock" in folder or folder.startswith("~")
    if is_above or parts & _OF_KEYS or _OF_THE_SYSTEM.fullmatch(folder):
        raise _opens(source, at)


def _opens(what: str, at: int) -> Refused:
    hint = "mount the one folder that the server needs"
    return Refused(at, f"`{what}` would open this machine to the container", hint)
