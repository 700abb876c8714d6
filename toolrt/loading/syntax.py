"""What libyaml says about broken YAML, in plain words, with the cure when it is sure.

Most broken manifests are a text that needed quotes: the place and the hint are then those of that
text. Part of reading a file; nothing here can fail.
"""

import re
from dataclasses import dataclass
from typing import Final

from toolrt.core.faults import Fault
from toolrt.loading.events import ParseError
from toolrt.loading.lines import Lines

_CODE: Final = "yaml-syntax"

_LONGEST_LINE: Final = 1000
_SHOWN: Final = 60
_HEAD: Final = re.compile(
    r"\s*(?:- +)*"
    r"(?:(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s\"'#\[\]{}&*!|>%@`,][^:#]*) *:(?: +|$))?"
)
_COMMENT: Final = re.compile(r"\s+#.*|\s+$")
_QUOTED: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'")
_PAIR: Final = re.compile(r"\s*(?:[^\s:]+:\s+)?")
_TIGHT_COLON: Final = re.compile(r"\s*[\w.-]+:(?=[^\s/])")
_BEGINS_BADLY: Final = frozenset("!@`%*&|>")


@dataclass(frozen=True, slots=True)
class Explained:
    """A syntax error for people: the fault, and the characters that it is about."""

    fault: Fault
    start: int
    end: int | None = None


def explain(error: ParseError, lines: Lines) -> Explained:
    """The one diagnostic of a file that is no YAML."""
    never_closed = _never_closed(error, lines)
    if never_closed is not None:
        return never_closed
    for index in _suspects(error):
        found = _unquoted(lines, index)
        if found is not None:
            start, value = found
            fault = Fault(_CODE, _why(value), hint=quote_hint(_meant(value)))
            return Explained(fault, start, start + len(value))
    return _in_plain_words(error, lines)


def quote_hint(value: str) -> str:
    """The hint to quote `value`, in quotes that are right for it."""
    if len(value) > _SHOWN:
        value = f"{value[:_SHOWN]}…"
    if '"' not in value and "\\" not in value:
        return f'quote this: "{value}"'
    doubled = value.replace("'", "''")
    return f"quote this: '{doubled}'"


def value_at(text: str, start: int, *, in_flow: bool) -> str:
    """The value that begins at `start`, as a person means it: to the end of the line or item."""
    end = re.compile(r"[,\[\]{}\r\n]" if in_flow else r"[\r\n]").search(text, start)
    return _COMMENT.sub("", text[start : end.start() if end else len(text)])


def _suspects(error: ParseError) -> list[int]:
    """Where a value may stand that needed quotes: where it went wrong, and what was begun."""
    begun = error.context.startswith(("while scanning", "while parsing a flow"))
    if not begun or error.context_start is None:
        return [error.start]
    return [error.start, error.context_start]


def _unquoted(lines: Lines, index: int) -> tuple[int, str] | None:
    """Where the value on the line of `index` begins, and the value, if it needs quotes."""
    number, column = lines.place(index)
    line = lines.line(number)
    head = _HEAD.match(line)
    if head is None or len(line) > _LONGEST_LINE or line.startswith("%"):
        return None
    start = head.end()
    value = _COMMENT.sub("", line[start:])
    if value.startswith(("[", "{")) and not _needs_quotes(value):
        masked = _QUOTED.sub(lambda match: "_" * len(match[0]), line)
        template = masked.find("{{", start)
        start, end = _item(masked, start, column - 1 if template < 0 else template)
        value = line[start:end]
    return (lines.start(number) + start, value) if _needs_quotes(value) else None


def _needs_quotes(value: str) -> bool:
    if value.startswith(("[", "{{")):
        return value[0] == "{" or _goes_on(value)
    if not value or value[0] in ":{":
        return False
    if value[0] in _BEGINS_BADLY:
        return True
    quoted = _QUOTED.match(value)
    if quoted is not None:
        return quoted.end() < len(value)
    return value[0] not in "\"'" and (": " in value or value.endswith(":") or "{{" in value)


def _goes_on(value: str) -> bool:
    """Whether text follows the `]` that closes the first `[`."""
    depth = 0
    for at, character in enumerate(value):
        depth += (character == "[") - (character == "]")
        if depth == 0:
            return at < len(value) - 1
    return False


def _item(masked: str, begin: int, column: int) -> tuple[int, int]:
    """Start and end of the value around `column` of the collection that begins at `begin`."""
    depth, start = 0, column
    while start > begin and not (depth == 0 and masked[start - 1] in ",[{"):
        start -= 1
        depth += (masked[start] in "]}") - (masked[start] in "[{")
    depth, end = 0, start
    while end < len(masked) and not (depth == 0 and masked[end] in ",]}"):
        depth += (masked[end] in "[{") - (masked[end] in "]}")
        end += 1
    pair = _PAIR.match(masked, start, end)
    start = pair.end() if pair else start
    return start, start + len(masked[start:end].rstrip())


def _meant(value: str) -> str:
    """The text without its quotes when an apostrophe in it closed them: `'it's'`."""
    has_apostrophe = value.count("'") == 3 and value[0] == value[-1] == "'"  # noqa: PLR2004 - two around, one inside
    return value[1:-1] if has_apostrophe else value


def _why(value: str) -> str:
    if value.startswith("{{"):
        return "a text that begins with `{{` needs quotes"
    if value[0] in "\"'":
        return "the text goes on after its closing quote"
    if value[0] == "`":
        return "a text that begins with a backtick needs quotes"
    if value[0] in _BEGINS_BADLY or value[0] == "[":
        return f"a text that begins with `{value[0]}` needs quotes"
    if "{{" in value:
        return "a text with `{{` in it needs quotes here"
    return "a text with `: ` in it needs quotes"


def _in_plain_words(error: ParseError, lines: Lines) -> Explained:
    met = lines.text[error.start : error.start + 1]
    if met == "\t" or "tab character" in error.problem:
        fault = Fault(_CODE, "a tab cannot indent YAML", hint="indent with spaces")
        return Explained(fault, _tab(lines.text, error.start))
    if "nesting" in error.problem:
        return Explained(Fault("too-deep", "too many collections inside each other"), error.start)
    if "expected ',' or" in error.problem:
        return _unclosed(error, lines)
    if met == ":":
        return _colon(error, lines)
    if "expected ':'" in error.problem:
        return _half_a_pair(error, lines)
    for problem, message, hint, at_context in _WORDS:
        if problem in error.problem:
            start = error.context_start if at_context else error.start
            fault = Fault(_CODE, message, hint=hint)
            return Explained(fault, error.start if start is None else start)
    return Explained(Fault(_CODE, f"this is no YAML: {error.problem}"), error.start)


def _unclosed(error: ParseError, lines: Lines) -> Explained:
    """A `[` or `{` without its end, or without a comma inside."""
    bracket, closing = "[]" if "]" in error.problem else "{}"
    opened = error.start if error.context_start is None else error.context_start
    if lines.place(opened)[0] == lines.place(error.start)[0]:
        fault = Fault(_CODE, f"`,` or `{closing}` expected here")
        return Explained(fault, error.start)
    fault = Fault(_CODE, f"the `{bracket}` that opens here is not closed", hint=f"add `{closing}`")
    return Explained(fault, opened)


def _never_closed(error: ParseError, lines: Lines) -> Explained | None:
    """The `[` or `{` that nothing in the rest of the file closes; a template is no such bracket."""
    opened = error.context_start
    if opened is None or "expected ',' or" not in error.problem:
        return None
    if "{{" in lines.line(lines.place(opened)[0]) or not _open_in(lines.text[opened:]):
        return None
    number, column = lines.place(opened)
    line = lines.line(number)
    missing = "".join("]" if each == "[" else "}" for each in reversed(_open_in(line)))
    bracket = line[column - 1]
    fault = Fault(_CODE, f"the `{bracket}` that opens here is not closed", hint=f"add `{missing}`")
    return Explained(fault, opened)


def _open_in(text: str) -> list[str]:
    """The brackets that are open at the end of `text`, whatever stands in quotes."""
    found: list[str] = []
    for character in _QUOTED.sub("", text):
        if character in "[{":
            found.append(character)
        elif character in "]}" and found:
            found.pop()
    return found


def _half_a_pair(error: ParseError, lines: Lines) -> Explained:
    start = error.start if error.context_start is None else error.context_start
    hint = "write `key: value`, or indent the text to go on with the line above"
    fault = Fault(_CODE, "a key without its `:`", hint=hint)
    return _tight_colon(lines, lines.place(start)[0]) or Explained(fault, start)


def _colon(error: ParseError, lines: Lines) -> Explained:
    fault = Fault(_CODE, "this `:` cannot stand here", hint=_INDENT)
    above = lines.place(error.start)[0] - 1
    return _tight_colon(lines, above) or Explained(fault, error.start)


def _tight_colon(lines: Lines, number: int) -> Explained | None:
    """The `:` of a line such as `key:value`, which is no key to YAML."""
    tight = _TIGHT_COLON.match(lines.line(number))
    if tight is None:
        return None
    fault = Fault(_CODE, "a `:` ends a key only with a space behind it", hint="add the space")
    return Explained(fault, lines.start(number) + tight.end() - 1)


def _tab(text: str, index: int) -> int:
    """The tab that an error is about: there, or the last one before on the same line."""
    if text[index : index + 1] == "\t":
        return index
    line = text.rfind("\n", 0, index) + 1
    return max(text.rfind("\t", line, index), line)


_INDENT: Final = "check the indentation of this line and of the one above"
_WORDS: Final = (
    # what libyaml says, what we say, the hint, whether the place is where the construct began
    ("mapping keys are not allowed", "this `?` cannot stand here", "quote it", False),
    (
        "block sequence entries are not allowed",
        "a list cannot begin on the line of its key",
        "put each `- item` on a line of its own, or write [a, b]",
        False,
    ),
    ("did not find expected key", "this does not belong to the mapping above", _INDENT, False),
    ("did not find expected '-'", "this does not belong to the list above", _INDENT, False),
    ("unexpected end of stream", "the quote that opens here is never closed", "close it", True),
    (
        "unexpected document indicator",
        "the quote that opens here is never closed",
        "close it",
        True,
    ),
    (
        "unknown escape character",
        "a backslash in double quotes begins an escape, and this is none",
        "use single quotes, or write the backslash twice",
        False,
    ),
    ("did not find expected node content", "a value is missing here", None, False),
    ("expected <document start>", "this does not belong to what stands above", _INDENT, False),
    ("incompatible YAML document", "this version of YAML is not known", "delete the line", False),
)
