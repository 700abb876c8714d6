"""JMESPath over an answer: `select`, `error` and what pagination reads.

The only module that knows the jmespath library.
"""

from typing import TYPE_CHECKING, Any

from toolrt.core.errors import CallError
from toolrt.core.faults import Fault, FaultError

if TYPE_CHECKING:
    from jmespath.parser import ParsedResult

_DEEPEST = 200


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
        except (JMESPathError, RecursionError, TypeError, ValueError, ArithmeticError):
            message = f"the answer does not have the shape that `{self.text}` expects"
        raise CallError(message, code="bad-response")


def compile_select(text: str) -> Select:
    """Compile a JMESPath expression. Raises FaultError (invalid-select) with its offset."""
    import jmespath  # noqa: PLC0415 - loaded with the first use
    from jmespath import exceptions  # noqa: PLC0415 - as above

    try:
        return Select(text, jmespath.compile(text))
    except exceptions.EmptyExpressionError:
        fault = Fault("invalid-select", "the expression is empty", offset=0)
    except exceptions.LexerError as error:
        fault = Fault("invalid-select", str(error.message), offset=error.lexer_position)
    except exceptions.IncompleteExpressionError:
        fault = Fault("invalid-select", "the expression ends too early", offset=len(text))
    except exceptions.ParseError as error:
        fault = Fault(
            "invalid-select", f"unexpected `{error.token_value}`", offset=error.lex_position
        )
    except (exceptions.JMESPathError, RecursionError):
        fault = Fault("invalid-select", "this is no JMESPath expression", offset=0)
    raise FaultError(fault)
