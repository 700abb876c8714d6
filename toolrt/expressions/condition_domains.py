"""Comparisons in a condition that come out the same for every call, whatever it asks for.

That is where a name has only some values, and is compared with another: a mistyped class of risk,
a score beyond its scale. The text is looked at, not evaluated; what is not surely such a comparison
is passed over.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import Any, Final

from toolrt.core.faults import Fault, FaultError, Severity
from toolrt.expressions.condition_text import ConditionText
from toolrt.expressions.globs import expression_of
from toolrt.expressions.patterns import compile_pattern
from toolrt.expressions.vocabulary import suggestion


@dataclass(frozen=True, slots=True)
class Texts:
    """What a text, or each text of a list, may be; `severity` is that of any other."""

    known: frozenset[str]
    severity: Severity = "error"


@dataclass(frozen=True, slots=True)
class Scale:
    """The numbers that a value may be, and what they stand for; `severity` is that of others."""

    low: float
    high: float = inf
    hint: str | None = None
    severity: Severity = "warning"


Domains = Mapping[str, Texts | Scale]
"""What dotted names of conditions may be, such as `tool.effect`; methods go by their name."""

CALENDAR: Final[Domains] = MappingProxyType(
    {
        "history.calls": Scale(0),
        "now.getHours": Scale(0, 23),
        "now.getMinutes": Scale(0, 59),
        "now.getSeconds": Scale(0, 59),
        "now.getMilliseconds": Scale(0, 999),
        "now.getDayOfWeek": Scale(0, 6, "0 is Sunday"),
        "now.getDate": Scale(1, 31),
        "now.getDayOfMonth": Scale(0, 30, "0 is the first day; `now.getDate()` begins with 1"),
        "now.getDayOfYear": Scale(0, 365),
        "now.getMonth": Scale(0, 11, "0 is January"),
    }
)
"""What counts and clocks come to."""

_METHODS: Final = frozenset({"history", "now"})
_TEXT = r'"+'
_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_SIGN = r"[=!]=|[<>]=?"
_BEGIN = re.compile(r"(?:^|[(&|?:,\[{])\s*$")
_BEFORE = re.compile(rf"(?P<value>{_TEXT}|{_NUMBER})\s*(?P<sign>\bin\b|{_SIGN})\s*$")
_AFTER = re.compile(
    rf"\s*(?P<sign>{_SIGN})\s*(?P<value>{_TEXT}|{_NUMBER})(?=\s*(?:$|[)&|?:,\]}}=!<>]))"
)
_AMONG = re.compile(r"\s*in\s*\[(?P<values>[^\[\]]*)\]")
_ASKED = re.compile(
    rf"\s*\.\s*(?P<method>startsWith|endsWith|contains|matches)\s*\(\s*(?P<value>{_TEXT})\s*\)"
)
_IN_GLOB = re.compile(r"(?<![\w.])glob\s*\(\s*$")
_GLOB = re.compile(rf"\s*,\s*(?P<value>{_TEXT})\s*\)")
_EACH = re.compile(r"\s*\.\s*(?:exists|exists_one|all|filter)\s*\(\s*(?P<name>[A-Za-z_]\w*)\s*,")
_TEXTS = re.compile(_TEXT)
_LITERAL = re.compile(r"(?P<raw>[rR]?)(?P<quote>\"{3}|'{3}|\"|')(?P<body>.*)(?P=quote)", re.DOTALL)


def _is_found(text: str, pattern: str) -> bool:
    """Whether the pattern is in the text; also where nobody can tell, since it is a broken one."""
    try:
        return compile_pattern(pattern).is_in(text)
    except FaultError:
        return True


def _is_of_glob(text: str, glob: str) -> bool:
    return _is_found(text, expression_of(glob))


_OF_TEXTS: Final[Mapping[str, tuple[str, Callable[[str, str], bool]]]] = MappingProxyType(
    {
        "startsWith": ("begins with", str.startswith),
        "endsWith": ("ends with", str.endswith),
        "contains": ("contains", str.__contains__),
        "matches": ("matches", _is_found),
        "glob": ("fits", _is_of_glob),
    }
)
_FLIPPED: Final = MappingProxyType({"<": ">", "<=": ">=", ">": "<", ">=": "<="})


def of_parameters(schemas: Mapping[str, Any]) -> Iterator[tuple[str, Texts]]:
    """Parameters that take some texts only, and lists of such."""
    for name, schema in schemas.items():
        items = schema.get("items") if isinstance(schema, Mapping) else None
        choices = _choices(schema) or _choices(items)
        if choices:
            yield f"args.{name}", Texts(choices)


def _choices(schema: Any) -> frozenset[str]:
    """The texts that a schema takes; none where it takes others as well."""
    if not isinstance(schema, Mapping):
        return frozenset()
    choices = schema.get("enum", [schema["const"]] if "const" in schema else None)
    is_texts = isinstance(choices, list) and all(isinstance(each, str) for each in choices)
    return frozenset(choices) if is_texts else frozenset()


def foregone(text: str, domains: Domains) -> Iterator[Fault]:
    """What in `text` compares a name of `domains` with what it never is, or always is."""
    source = ConditionText(text)
    for name, domain in domains.items():
        for match in _pattern(name).finditer(source.code):
            place = _Place(source, name, domain, match.start(), match.end())
            yield from place.faults()
            yield from _of_each(place)


def _pattern(name: str) -> re.Pattern[str]:
    """Where `name` stands as a whole; a method with what it is given."""
    root, _, key = name.partition(".")
    call = r"\s*\([^()]*\)" if root in _METHODS else r"(?!\w|\s*[(\[])"
    return re.compile(rf"(?<![\w.]){re.escape(root)}\s*\.\s*{re.escape(key)}\b{call}")


def _of_each(place: "_Place") -> Iterator[Fault]:
    """The same of a name that stands for each item of a list: `risk.classes.exists(c, c == …)`."""
    each = _EACH.match(place.source.code, place.end)
    if each is None:
        return
    end = _closing(place.source.code, each.end())
    for match in re.finditer(rf"(?<![\w.]){each['name']}\b", place.source.code[:end]):
        if match.start() >= each.end():
            start, stop = match.span()
            yield from _Place(place.source, place.name, place.domain, start, stop, True).faults()


def _closing(code: str, start: int) -> int:
    """Where the parenthesis ends inside of which `start` is."""
    depth = 1
    for at in range(start, len(code)):
        depth += (code[at] == "(") - (code[at] == ")")
        if depth == 0:
            return at
    return len(code)


@dataclass(frozen=True, slots=True)
class _Place:
    """A name in a condition, from `start` to `end`; `is_item` of a list that goes by `name`."""

    source: ConditionText
    name: str
    domain: Texts | Scale
    start: int
    end: int
    is_item: bool = False

    def faults(self) -> Iterator[Fault]:
        code = self.source.code
        before = _BEFORE.search(code, 0, self.start)
        if before is not None and _BEGIN.search(code, 0, before.start()):
            yield from self._compared(before, _FLIPPED.get(before["sign"], before["sign"]))
        if _BEGIN.search(code, 0, self.start) is None:
            return
        after = _AFTER.match(code, self.end)
        if after is not None:
            yield from self._compared(after, after["sign"])
        among = _AMONG.match(code, self.end)
        for each in _TEXTS.finditer(code, *among.span("values")) if among else ():
            yield from self._with_text(each.span(), has=self.is_item)
        asked = _ASKED.match(code, self.end)
        if asked is not None:
            yield from self._asked(asked["method"], asked.span("value"))
        globbed = _GLOB.match(code, self.end) if _IN_GLOB.search(code, 0, self.start) else None
        if globbed is not None:
            yield from self._asked("glob", globbed.span("value"))

    def _compared(self, match: re.Match[str], sign: str) -> Iterator[Fault]:
        """What is wrong with the comparison in `match`, as if the name came first."""
        if match["value"].startswith('"'):
            yield from self._with_text(match.span("value"), has=self.is_item or sign == "in")
        elif isinstance(self.domain, Scale):
            span = min(match.start(), self.start), max(match.end(), self.end)
            shown = self.source.text[slice(*span)].strip()
            fault = _of_number(self.name, self.domain, sign, float(match["value"]), shown)
            if fault is not None:
                yield fault(match.start("value"))

    def _with_text(self, span: tuple[int, int], *, has: bool) -> Iterator[Fault]:
        value = self._value(span)
        if not isinstance(self.domain, Texts) or value is None or value in self.domain.known:
            return
        message = f"`{self.name}` {'never has' if has else 'is never'} `{value}`"
        yield self._unknown(value, message, span[0])

    def _asked(self, method: str, span: tuple[int, int]) -> Iterator[Fault]:
        """A question about the text that no value answers with yes."""
        value = self._value(span)
        if value is None or not isinstance(self.domain, Texts):
            return
        words, is_so = _OF_TEXTS[method]
        if not any(is_so(each, value) for each in self.domain.known):
            message = f"`{self.name}` never {words} `{value}`"
            yield self._unknown(value, message, span[0])

    def _unknown(self, value: str, message: str, offset: int) -> Fault:
        hint = (
            suggestion(value, self.domain.known - {""}) if isinstance(self.domain, Texts) else None
        )
        severity = self.domain.severity if isinstance(self.domain, Texts) else "error"
        return Fault("unknown-value", message, (), hint, severity, offset)

    def _value(self, span: tuple[int, int]) -> str | None:
        """The text that stands there; None for one with escapes, and for bytes."""
        literal = _LITERAL.fullmatch(self.source.text[slice(*span)])
        if literal is None or ("\\" in literal["body"] and not literal["raw"]):
            return None
        return literal["body"]


def _of_number(
    name: str, scale: Scale, sign: str, value: float, shown: str
) -> Callable[[int], Fault] | None:
    """What is wrong with comparing a number of `scale` with `value`, given its offset."""
    if not scale.low <= value <= scale.high:
        many = (
            f"{scale.low:g} or more"
            if scale.high == inf
            else f"from {scale.low:g} to {scale.high:g}"
        )
        message = f"`{name}` is {many}"
        return lambda offset: Fault(
            "out-of-range", message, (), scale.hint, scale.severity, offset=offset
        )
    edge = {"<": scale.low, ">=": scale.low, ">": scale.high, "<=": scale.high}.get(sign)
    if edge != value:
        return None
    message = f"`{shown}` is {'never' if sign in '<>' else 'always'} true"
    return lambda offset: Fault(
        "constant-condition", message, (), scale.hint, "warning", offset=offset
    )
