"""Files of calls for `toolrt run --batch`: a JSON list, or one call a line (JSONL).

What is wrong is told with its line.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from toolrt.core.errors import RefusedError
from toolrt.faces.cli.arguments import read_whole
from toolrt.faces.cli.options import Misuse

SHAPE = "write a JSON list of calls, or one call a line (JSONL)"

_PLACE = re.compile(r" at line (\d+), column (\d+)")
_NO_JSON = "the arguments are no valid JSON: "


class BatchFile:
    """The calls in one file; `-` is stdin. Raises Misuse for what is no list of calls."""

    def __init__(self, name: str) -> None:
        self._name = "stdin" if name == "-" else name
        self._text = read_whole(name).removeprefix("\ufeff")
        is_list = self._text.lstrip().startswith("[")
        self._line_of: Callable[[int], int]
        self.calls: list[Any] = self._of_list() if is_list else self._of_lines()

    def misuse(self, refusal: RefusedError) -> Misuse:
        """How a batch that is refused is told: with the line of the call that is wrong."""
        number = refusal.details.get("call")
        place = "" if number is None else f":{self._line_of(number)}"
        return Misuse(f"{self._name}{place}: {refusal.message}", hint=refusal.hint)

    def _of_list(self) -> list[Any]:
        self._line_of = self._line_in_list
        found = self._parsed(self._text, 0)
        if not isinstance(found, list):
            raise Misuse(f"{self._name}: this is no list", hint=SHAPE)
        return found

    def _of_lines(self) -> list[Any]:
        lines = [(at, line) for at, line in enumerate(self._text.split("\n")) if line.strip()]
        self._line_of = lambda number: lines[number - 1][0] + 1
        if not lines:
            raise Misuse(f"{self._name}: there is no call in it", hint=SHAPE)
        return [self._parsed(line, at) for at, line in lines]

    def _parsed(self, text: str, lines_before: int) -> Any:
        from toolrt.schemas.text import parse_json  # noqa: PLC0415 - `--help` needs it not

        try:
            return parse_json(text)
        except RefusedError as error:
            why = error.message.removeprefix(_NO_JSON).rstrip(".")
            found = _PLACE.search(why)
            line, column = (int(found[1]), f":{found[2]}") if found else (1, "")
            place = f"{self._name}:{line + lines_before}{column}"
            raise Misuse(f"{place}: {_PLACE.sub('', why)}", hint=SHAPE) from error

    def _line_in_list(self, number: int) -> int:
        """The line that a call of the list begins in."""
        decoder, at = json.JSONDecoder(), self._text.index("[") + 1
        for left in range(number, 0, -1):
            while self._text[at] in " \t\r\n,":
                at += 1
            if left > 1:
                at = decoder.raw_decode(self._text, at)[1]
        return self._text.count("\n", 0, at) + 1
