"""The CEL library's messages in plain words, with exact offsets.

Compile errors arrive as `ERROR: <input>:LINE:COLUMN: message`, lines and columns counted from one
in characters; run-time errors as a status name and a sentence that may quote values.
"""

import re
from collections.abc import Collection, Iterator

from toolrt.core.faults import Fault
from toolrt.core.names import did_you_mean

_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_UNDECLARED = re.compile(r"undeclared reference to '([^']*)'")
_OVERLOAD = re.compile(r"found no matching overload for '([^']*)' applied to '\((.*)\)'")
_SELECT = re.compile(r"expression of type '([^']*)' cannot be the operand of a select operation")
_UNEXPECTED = re.compile(
    r"Syntax error: (?:mismatched input|extraneous input|no viable alternative at input"
    r"|token recognition error at:|missing .* at) '(.*?)'(?: expecting .*)?$"
)
_RUNTIME_OVERLOAD = re.compile(r"No matching overloads found : ([^(]*)\((.*)\)")
_MISSING = re.compile(r'Key not found in map : "([A-Za-z_]\w*)"')
_OPERAND = re.compile(r"(?:[^,()]|\([^()]*(?:\([^()]*\)[^()]*)*\))+")
_COMPARISONS = frozenset({"_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "@in"})
_NUMBERS = frozenset({"int", "double", "uint", "int64", "uint64"})
_TYPES = {
    "bool": "a boolean",
    "double": "a number",
    "dyn": "any value",
    "int": "an integer",
    "int64": "an integer",
    "null_type": "null",
    "string": "a text",
    "timestamp": "a time",
    "uint": "an integer",
    "uint64": "an integer",
}
_WORDS = {
    "and": "write &&",
    "or": "write ||",
    "not": "write !",
    "=": "write ==",
    "is": "write ==",
}
_RUNTIME = (
    ("Iteration budget", "it takes too many steps"),
    ("Key not found", "a key that it reads is not there"),
    ("No value with name", "a name in it has no value here"),
    ("regular expression", "a regular expression in it is invalid"),
    ("divide by zero", "it divides by zero"),
    ("modulus by zero", "it divides by zero"),
    ("Index error", "a list in it is too short"),
    ("out of range", "a number in it is too large"),
    ("overflow", "a number in it is too large"),
    ("Non-CEL value", "it reads a value that is not JSON"),
)


def compile_faults(message: str, text: str, names: Collection[str]) -> list[Fault]:
    """The faults in the library's report about `text`; `names` are the right ones.

    A syntax error hides whatever comes after it. Numbers of different types may be compared, so
    that report is left out.
    """
    found = [(int(line), int(column), what) for line, column, what in _ERROR.findall(message)]
    if not found:
        return [Fault("invalid-condition", _shapeless(message), offset=0)]
    syntax = [each for each in found if each[2].startswith("Syntax error")]
    faults = [
        _fault(what, _offset(text, line, column), text, names)
        for line, column, what in syntax[:1] or found
        if not _is_numeric_comparison(what)
    ]
    return list(_without_echoes(faults))


def missing_key(message: str, text: str) -> str | None:
    """The name in `text` whose last key was not there, such as `result.ok`; None for others.

    A key that `text` does not spell out may be a value of the caller, and is not told.
    """
    found = _MISSING.search(message)
    read = found and re.search(rf"(?<![\w.])[A-Za-z_]\w*(?:\.\w+)*\.{found[1]}\b(?!\s*\()", text)
    return read[0] if read else None


def run_message(error: str) -> str:
    """Why an evaluation failed, without the values that the library quotes."""
    overload = _RUNTIME_OVERLOAD.search(error)
    if overload:
        return f"{_operator(overload[1])} cannot take {_operands(overload[2])}"
    return next((plain for mark, plain in _RUNTIME if mark in error), "it cannot be evaluated")


def type_words(name: str) -> str:
    """A CEL type as users know it."""
    name = name.lower()
    if name.startswith("list"):
        return "a list"
    return "an object" if name.startswith("map") else _TYPES.get(name, f"`{name}`")


def _shapeless(message: str) -> str:
    if "recursion limit" in message:
        return "the condition is nested too deeply"
    return "the condition is too long" if "size exceeds" in message else "this is no condition"


def _offset(text: str, line: int, column: int) -> int:
    lines = text.split("\n")
    return min(sum(len(each) + 1 for each in lines[: line - 1]) + column - 1, len(text))


def _fault(what: str, offset: int, text: str, names: Collection[str]) -> Fault:
    if match := _UNDECLARED.search(what):
        return _undeclared(match[1], offset, text, names)
    if match := _OVERLOAD.search(what):
        offset = _name_of_call(match[1], offset, text)
        return Fault(
            "type-mismatch",
            f"{_operator(match[1])} cannot take {_operands(match[2])}",
            hint=_number_hint(match[2]),
            offset=offset,
        )
    if match := _SELECT.search(what):
        return Fault("type-mismatch", f"{type_words(match[1])} has no keys", offset=offset)
    word = _UNEXPECTED.search(what)
    hint = _WORDS.get(word[1].strip()) if word else None
    return Fault("invalid-condition", _syntax(what), hint=hint, offset=offset)


def _syntax(what: str) -> str:
    match = _UNEXPECTED.search(what)
    if match is None:
        return what.removeprefix("Syntax error: ")
    if match[1] == "<EOF>":
        return "the condition ends too early"
    return f"unexpected `{match[1].strip()}`"


def _undeclared(name: str, offset: int, text: str, names: Collection[str]) -> Fault:
    if text[offset : offset + 1] == "(":
        offset = _name_of_call(name, offset, text)
        return Fault("unknown-name", f"there is no function `{name}`", offset=offset)
    name = name.partition(".")[0]
    hint = f"write args.{name}" if f"args.{name}" in names else None
    hint = hint or did_you_mean(name, sorted(each for each in names if "." not in each))
    return Fault("unknown-name", f"`{name}` is no name in conditions", hint=hint, offset=offset)


def _name_of_call(name: str, offset: int, text: str) -> int:
    """Calls are reported at their parenthesis; the name stands before it."""
    return max(text.rfind(name, 0, offset), 0) if text[offset : offset + 1] == "(" else offset


def _without_echoes(faults: list[Fault]) -> Iterator[Fault]:
    """A call on an unknown name is unknown too; saying so twice helps nobody."""
    has_unknown = any("no name in conditions" in fault.message for fault in faults)
    seen = set()
    for fault in sorted(faults, key=lambda each: each.offset or 0):
        is_echo = has_unknown and "no function" in fault.message
        if fault.message not in seen and not is_echo:
            yield fault
        seen.add(fault.message)


def _is_numeric_comparison(what: str) -> bool:
    match = _OVERLOAD.search(what)
    if match is None or match[1] not in _COMPARISONS:
        return False
    return all(_core(each) in _NUMBERS for each in _split(match[2]))


def _core(name: str) -> str:
    return name.removeprefix("list(").removesuffix(")")


def _number_hint(operands: str) -> str | None:
    if all(each in _NUMBERS for each in _split(operands)):
        return "a `number` takes numbers with a point: write 2.0, not 2"
    return None


def _split(operands: str) -> list[str]:
    """`int, list(string)` as its parts; commas inside parentheses do not split."""
    return [each.strip() for each in _OPERAND.findall(operands)]


def _operands(operands: str) -> str:
    return " and ".join(type_words(each) for each in _split(operands))


def _operator(name: str) -> str:
    if name == "@in":
        return "`in`"
    shown = name.strip("_").replace("_", " ") if name.startswith(("_", "!", "-")) else name
    return f"`{shown}`"
