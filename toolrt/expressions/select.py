"""JMESPath over an answer: `select`, `error` and what pagination reads.

The only module that knows the jmespath library.
"""

import re
import warnings
from typing import TYPE_CHECKING, Any, cast

from toolrt.core.errors import CallError
from toolrt.core.faults import Fault, FaultError
from toolrt.core.names import did_you_mean

if TYPE_CHECKING:
    from jmespath.parser import ParsedResult

_DEEPEST = 100
_OF_THE_LIBRARY = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What jmespath raises, beside its own errors, for texts and values that it was not made for."""
_MOST_DIGITS = 4300
"""Of a number, as `int` reads it."""
_LONG_NUMBER = re.compile(rf"[0-9]{{{_MOST_DIGITS + 1},}}")


class Select:
    """A compiled JMESPath expression."""

    __slots__ = ("_parsed", "text")

    def __init__(self, text: str, parsed: "ParsedResult") -> None:
        self.text = text
        self._parsed = parsed

    def search(self, value: Any) -> Any:
        """What the expression finds in `value`; None when nothing is there.

        Raises CallError (bad-response) when the answer is not of the shape it expects.
        """
        from jmespath.exceptions import JMESPathError  # noqa: PLC0415 - loaded with the first use

        try:
            return self._parsed.search(value)
        except (*_OF_THE_LIBRARY, JMESPathError, ArithmeticError):
            message = f"the answer does not have the shape that `{self.text}` expects"
        raise CallError(message, code="bad-response")


def compile_select(text: str) -> Select:
    """Compile a JMESPath expression. Raises FaultError (invalid-select) with its offset."""
    import jmespath  # noqa: PLC0415 - loaded with the first use
    from jmespath import exceptions  # noqa: PLC0415 - as above

    try:
        with warnings.catch_warnings():  # the parser warns of literals such as `a`, which it takes
            warnings.simplefilter("ignore")
            parsed = jmespath.compile(text)
    except exceptions.EmptyExpressionError:
        raise _fault("the expression is empty", 0) from None
    except exceptions.ParseError as error:
        token = "" if error.token_value is None else str(error.token_value)
        raise _syntax_fault(text, error.lex_position, token) from None
    except _OF_THE_LIBRARY:
        raise _unreadable(text) from None
    _check_functions(text, cast("dict[str, Any]", parsed.parsed))
    return Select(text, parsed)


def _unreadable(text: str) -> FaultError:
    """What the parser gave up on in its own ways."""
    number = _LONG_NUMBER.search(text)
    if number is not None:
        return _fault(f"a number of more than {_MOST_DIGITS:,} digits", number.start())
    return _fault("this is no JMESPath expression", 0)


def _syntax_fault(text: str, offset: int, token: str) -> FaultError:
    if not token or offset >= len(text):
        return _fault("the expression ends too early", len(text))
    if len(token) > 1 and token[0] in "'\"`":
        return _fault(f"`{token[0]}` is never closed", offset)
    path = text.removeprefix("$").lstrip(".") if text.startswith("$") and offset == 0 else ""
    hint = f"that is JSONPath; in JMESPath write `{path}`" if path else None
    return _fault(f"unexpected `{token}`", offset, hint)


def _check_functions(text: str, tree: dict[str, Any]) -> None:
    """Raise FaultError for a function that does not exist, or for too deep a nesting."""
    from jmespath.functions import Functions  # noqa: PLC0415 - as above

    level = [tree]
    for _ in range(_DEEPEST):
        for node in level:
            name = node.get("value")
            if node["type"] == "function_expression" and name not in Functions.FUNCTION_TABLE:
                raise _unknown_function(text, str(name), sorted(Functions.FUNCTION_TABLE))
        level = [child for node in level for child in node["children"] if isinstance(child, dict)]
        if not level:
            return
    raise _fault("the expression is nested too deeply", 0)


def _unknown_function(text: str, name: str, known: list[str]) -> FaultError:
    call = re.search(rf"(?<![\w-]){re.escape(name)}\s*\(", text)
    offset = call.start() if call else 0
    return _fault(f"there is no function `{name}`", offset, did_you_mean(name, known))


def _fault(message: str, offset: int, hint: str | None = None) -> FaultError:
    return FaultError(Fault("invalid-select", message, hint=hint, offset=offset))
