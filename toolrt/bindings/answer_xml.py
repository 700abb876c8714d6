"""XML to a JSON value: `<a x="1"><b>2</b><b/></a>` is `{"a": {"@x": "1", "b": ["2", None]}}`.

Attributes are `@name`, text beside them or beside elements is `#text`, elements of one name are a
list. Names keep their prefixes. A document type is refused, and with it every entity of its own, so
nothing in a document can grow or be fetched (expat still knows `&lt;` and its like).
"""

from typing import Any, NoReturn
from xml.parsers import expat

MOST_DEEP = 90
"""Elements in one another; each may be two containers of JSON, of which answers hold 200."""
MOST_NODES = 200_000
_LONGEST_NAME = 1024


class BadMarkupError(ValueError):
    """What came is no XML that is read; the message goes on from 'it is not XML: '."""


def read_xml(data: bytes, encoding: str | None = None) -> dict[str, Any]:
    """The root element. `encoding` wins over what the document says. Raises BadMarkupError."""
    reading = _Reading()
    try:
        parser = expat.ParserCreate(encoding)
        reading.attach(parser)
        parser.Parse(data, True)
    except expat.ExpatError as error:
        why = expat.ErrorString(error.code) or "broken"
        raise BadMarkupError(f"{why} at line {error.lineno} column {error.offset + 1}") from None
    except BadMarkupError:
        raise
    except (LookupError, ValueError):
        raise BadMarkupError("its encoding is not known") from None
    return reading.root


class _Element:
    __slots__ = ("lists", "members", "name", "texts")

    def __init__(self, name: str, members: dict[str, Any]) -> None:
        self.name = name
        self.members = members
        self.lists: dict[str, list[Any]] = {}
        self.texts: list[str] = []

    def value(self) -> Any:
        text = "".join(self.texts).strip()
        if not self.members:
            return text or None
        return {**self.members, "#text": text} if text else self.members

    def put(self, name: str, value: Any) -> None:
        """Add a child; from the second one on its name stands for a list."""
        if name in self.lists:
            self.lists[name].append(value)
        elif name in self.members:
            self.members[name] = self.lists[name] = [self.members[name], value]
        else:
            self.members[name] = value


class _Reading:
    """What expat tells, in the order of the document."""

    def __init__(self) -> None:
        self.root: dict[str, Any] = {}
        self._open: list[_Element] = []
        self._nodes = 0

    def attach(self, parser: expat.XMLParserType) -> None:
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = _refuse
        parser.EntityDeclHandler = _refuse
        parser.UnparsedEntityDeclHandler = _refuse
        parser.ExternalEntityRefHandler = _refuse

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._nodes += 1 + len(attributes)
        if self._nodes > MOST_NODES:
            raise BadMarkupError(f"it has more than {MOST_NODES:,} elements and attributes")
        if len(self._open) == MOST_DEEP:
            raise BadMarkupError(f"it is nested deeper than {MOST_DEEP} elements")
        if len(name) > _LONGEST_NAME:
            raise BadMarkupError("a name in it is too long")
        self._open.append(_Element(name, {f"@{key}": text for key, text in attributes.items()}))

    def _end(self, _name: str) -> None:
        element = self._open.pop()
        if self._open:
            self._open[-1].put(element.name, element.value())
        else:
            self.root = {element.name: element.value()}

    def _text(self, text: str) -> None:
        self._open[-1].texts.append(text)


def _refuse(*_told: Any) -> NoReturn:
    raise BadMarkupError("it has a document type, which is not read")
