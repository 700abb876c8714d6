"""The plain conditions that most rules are made of, decided without the CEL library.

Its call costs many times what they do. What is taken: comparisons, `in`, `has`, `size`,
`startsWith`, `endsWith`, `contains` and `history.calls` over `root.key` and literals, with `!`,
`&&`, `||` and parentheses. Any other text is left to the library, and so is any call whose values
are not the plain ones that the steps are sure of. The library has checked the text before.
"""

import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from math import isfinite
from types import MappingProxyType, NoneType
from typing import Any

from toolrt.expressions import condition_steps as steps
from toolrt.expressions.condition_steps import MISSING, Step, UnsureError
from toolrt.expressions.condition_values import LARGEST_EXACT, is_readable

Place = tuple[str, str | None]
"""A root and a key of it; None for a root that is read whole."""
Token = tuple[str, str]
"""What it is, and as written; an end has neither."""

_LONGEST = 200
_TOKEN = re.compile(
    r"""[ \t\r\n\f]*(?:
    (?P<number>-?\d+(?:\.\d+)?(?![\w.]))
    |(?P<text>"[^"\\\r\n]*"|'[^'\\\r\n]*')
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>&&|\|\||[=!<>]=|[<>!()\[\],.])
    |(?P<end>\Z))""",
    re.ASCII | re.VERBOSE,
)
_END: Token = ("end", "")
_COMPARISONS: Mapping[str, Callable[[Step, Step], Step]] = MappingProxyType(
    {
        "==": steps.equal,
        "!=": lambda left, right: steps.negated(steps.equal(left, right)),
        "<": lambda left, right: steps.ordered(operator.lt, left, right),
        "<=": lambda left, right: steps.ordered(operator.le, left, right),
        ">": lambda left, right: steps.ordered(operator.gt, left, right),
        ">=": lambda left, right: steps.ordered(operator.ge, left, right),
    }
)
_OF_TEXTS: Mapping[str, Callable[[str, str], bool]] = MappingProxyType(
    {"startsWith": str.startswith, "endsWith": str.endswith, "contains": operator.contains}
)
_WORDS = MappingProxyType({"true": True, "false": False, "null": None})
_KEYWORDS = frozenset({*_WORDS, "in"})
_TEXTS, _NUMBERS = frozenset({str}), frozenset({int, float})
_ALWAYS_PLAIN = frozenset({bool, float, NoneType})
_MAPS = frozenset({dict, MappingProxyType})


class FastCondition:
    """A plain condition, ready to be asked."""

    __slots__ = ("_places", "_step")

    def __init__(self, step: Step, places: Iterable[tuple[str, str]]) -> None:
        self._step = step
        self._places = tuple(places)

    def __call__(self, bindings: Mapping[str, Any]) -> bool | None:
        """Whether it is true for these roots; None when the library has to tell."""
        try:
            found = self._step([_value(bindings[root], key) for root, key in self._places])
        except (UnsureError, KeyError):
            return None
        return found if found is True or found is False else None


def fast_condition(text: str, uses: Collection[Place]) -> FastCondition | None:
    """`text`, which reads exactly `uses`; None unless all of it is plain."""
    try:
        parser = _Parser(list(_tokens(text)), frozenset(root for root, _ in uses))
        step = parser.whole()
    except UnsureError:
        return None
    read = {(root, None if root == "history" else key) for root, key in parser.places}
    return FastCondition(step, parser.places) if read == set(uses) else None


class _Parser:
    """Goes through the tokens once; raises UnsureError at the first that is not plain."""

    def __init__(self, tokens: list[Token], roots: Collection[str]) -> None:
        self._tokens = tokens
        self._roots = roots
        self._at = 0
        self.places: dict[tuple[str, str], int] = {}
        """What is read: each root and key with the index of its value."""

    def whole(self) -> Step:
        step = self._either()
        if self._tokens[self._at] != _END:
            raise UnsureError
        return step

    def _either(self) -> Step:
        step = self._both()
        while self._takes("||"):
            step = steps.either(step, self._both())
        return step

    def _both(self) -> Step:
        step = self._relation()
        while self._takes("&&"):
            step = steps.both(step, self._relation())
        return step

    def _relation(self) -> Step:
        left = self._unary()
        if self._takes("in"):
            return self._among(left)
        _, sign = self._tokens[self._at]
        if sign not in _COMPARISONS:
            return left
        self._at += 1
        return _COMPARISONS[sign](left, self._unary())

    def _among(self, left: Step) -> Step:
        if not self._takes("["):
            return steps.listed(left, self._unary())
        literals = [self._literal()]
        while self._takes(","):
            literals.append(self._literal())
        self._expect("]")
        for kinds in (_TEXTS, _NUMBERS):
            if all(type(each) in kinds for each in literals):
                return steps.among(left, frozenset(literals), kinds)
        raise UnsureError

    def _literal(self) -> str | float:
        kind, token = self._next()
        if kind == "text":
            return token[1:-1]
        if kind == "number":
            return _number(token)
        raise UnsureError

    def _unary(self) -> Step:
        if self._takes("!"):
            return steps.negated(self._unary())
        if self._takes("("):
            step = self._either()
            self._expect(")")
            return step
        return self._operand()

    def _operand(self) -> Step:
        """A literal, a value, or a question about one."""
        kind, word = self._tokens[self._at]
        if kind != "name":
            return self._asked(steps.fixed(self._literal()))
        self._at += 1
        if word in _WORDS:
            return steps.fixed(_WORDS[word])
        if word == "has":
            self._expect("(")
            place = self._place(self._name())
            self._expect(")")
            return steps.given(place)
        if word == "size":
            self._expect("(")
            of = steps.held(self._place(self._name()))
            self._expect(")")
            return steps.size(of)
        return self._asked(self._window() if word == "history" else self._read(word))

    def _read(self, root: str) -> Step:
        return steps.held(self._place(root))

    def _window(self) -> Step:
        """The rest of `history.calls("10m")`."""
        for sign in (".", "calls", "("):
            self._expect(sign)
        kind, token = self._next()
        self._expect(")")
        if kind != "text":
            raise UnsureError
        return steps.held(self._index("history", token[1:-1]))

    def _place(self, root: str) -> int:
        """Where the value of the key that follows will be."""
        self._expect(".")
        key = self._name()
        if root == "history" or root not in self._roots:
            raise UnsureError
        return self._index(root, key)

    def _index(self, root: str, key: str) -> int:
        return self.places.setdefault((root, key), len(self.places))

    def _asked(self, of: Step) -> Step:
        """`of`, or what a method says of it."""
        if not self._takes("."):
            return of
        method = self._name()
        self._expect("(")
        if method == "size":
            self._expect(")")
            return steps.size(of)
        if method not in _OF_TEXTS:
            raise UnsureError
        of = steps.of_texts(_OF_TEXTS[method], of, self._operand())
        self._expect(")")
        return of

    def _name(self) -> str:
        kind, token = self._next()
        if kind != "name" or token in _KEYWORDS:
            raise UnsureError
        return token

    def _next(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _takes(self, token: str) -> bool:
        """Whether `token` is next; it is passed then."""
        is_next = self._tokens[self._at][1] == token
        self._at += is_next
        return is_next

    def _expect(self, token: str) -> None:
        if not self._takes(token):
            raise UnsureError


def _tokens(text: str) -> Iterator[Token]:
    """The tokens with an end; raises UnsureError for what is none, and for too many."""
    at = 0
    for _ in range(_LONGEST):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise UnsureError
        yield match.lastgroup, match[match.lastgroup]
        if match.lastgroup == "end":
            return
        at = match.end()
    raise UnsureError


def _number(token: str) -> float:
    if "." in token:
        number = float(token)
        if isfinite(number):
            return number
    elif abs(int(token)) <= LARGEST_EXACT:
        return int(token)
    raise UnsureError


def _value(root: Any, key: str) -> Any:
    """What is read there, if it is plain; raises UnsureError for all else."""
    if type(root) not in _MAPS:
        raise UnsureError
    value = root.get(key, MISSING)
    kind = type(value)
    if kind is str:
        is_plain = is_readable(value)
    elif kind is int:
        is_plain = -LARGEST_EXACT <= value <= LARGEST_EXACT
    elif kind is list:
        is_plain = all(type(each) is str and is_readable(each) for each in value)
    else:
        is_plain = kind in _ALWAYS_PLAIN or value is MISSING
    if is_plain:
        return value
    raise UnsureError
