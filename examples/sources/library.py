"""Code of a team that knows nothing of toolrt but two names: `tool` and `Toolkit`."""

import toolrt


class Desk(toolrt.Toolkit):
    """The desk of a library: made when the first call comes, once for all of its tools."""

    def __init__(self, open_until: int) -> None:
        self.open_until = open_until
        self.lent: dict[str, str] = {}

    @toolrt.tool(idempotent=True)
    def lend(self, book: str, to: str) -> str:
        """Lend a book to somebody.

        Args:
            book: The title.
            to: Who takes it home.
        """
        holder = self.lent.setdefault(book, to)
        if holder != to:
            raise toolrt.ToolError(f"{holder} has it", code="lent", hint="ask for another book")
        return f"{to} has {book}"

    @toolrt.tool
    async def take_back(self, book: str) -> str:
        """Take a book back."""
        return f"{self.lent.pop(book, 'nobody')} had {book}"

    @toolrt.tool(name="hours", effect="read")
    def opening_hours(self) -> str:
        """When the desk is open."""
        return f"until {self.open_until} o'clock"


class Texts:
    """Nothing is marked here: all public methods are tools."""

    def initials(self, name: str) -> str:
        """The initials of a name."""
        return "".join(part[0] for part in name.split())

    def raw_bytes(self, name: str) -> bytes:
        """What a text is made of."""
        return name.encode()


@toolrt.tool(effect="read")
def shelf(book: str) -> int:
    """The shelf that a book stands on."""
    return len(book) % 7


texts = Texts()
