"""A JSON API on loopback for the http tools: `python examples/bookshop.py [PORT]`, else 18765.

GET /books?about=WORD lists, GET /books/ID tells one, POST /orders takes {"book", "copies"}.
GET /shelf lists one book a page and says where the next one is; GET /prices.csv is a table.
POST /payments pays {"invoice", "amount"}, and cuts the connection the first time instead of saying
so; GET /payments/INVOICE says how often an invoice was paid.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

BOOKS = {
    "emma": {"title": "Emma", "author": "Jane Austen", "price": 9.5, "stock": 3},
    "persuasion": {"title": "Persuasion", "author": "Jane Austen", "price": 8.0, "stock": 0},
    "walden": {"title": "Walden", "author": "Henry David Thoreau", "price": 11.0, "stock": 7},
}


PAYMENTS: list[dict[str, Any]] = []
KEYS: set[str] = set()


class Bookshop(BaseHTTPRequestHandler):
    """Answers as a small internal service would, with its own words for what went wrong."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        folder, _, book = unquote(url.path).lstrip("/").partition("/")
        if folder == "books" and not book:
            return self.answer(200, found(parse_qs(url.query).get("about", [""])[0]))
        if folder == "shelf":
            return self.answer(200, shelf(int(parse_qs(url.query).get("from", ["0"])[0])))
        if folder == "prices.csv":
            return self.answer(200, prices(), "text/csv")
        if folder == "payments":
            return self.answer(200, paid(book))
        if folder == "books" and book in BOOKS:
            return self.answer(200, {"id": book, **BOOKS[book]})
        return self.answer(404, {"error": {"message": f"there is no {self.path}"}})

    def do_POST(self) -> None:
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/payments":
            return self.pay(order)
        book = BOOKS.get(order["book"])
        if book is None:
            return self.answer(404, {"error": {"message": f"no book {order['book']}"}})
        if book["stock"] < order["copies"]:
            return self.answer(409, {"error": {"message": f"only {book['stock']} in stock"}})
        return self.answer(200, {"ordered": order, "total": book["price"] * order["copies"]})

    def pay(self, payment: dict[str, Any]) -> None:
        """Pays, and cuts the connection the first time. A key is good for one payment."""
        invoice, key = payment["invoice"], self.headers.get("Idempotency-Key")
        is_first = not paid(invoice)["times"]
        if key is None or key not in KEYS:
            PAYMENTS.append(payment)
        KEYS.add(key or "")
        if is_first:
            self.close_connection = True
            return
        self.answer(200, {"paid": invoice})

    def answer(self, status: int, said: Any, media_type: str = "application/json") -> None:
        body = said.encode() if isinstance(said, str) else json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Says nothing: the tools' output is what matters here."""


def found(about: str) -> dict[str, Any]:
    """The books whose title or author has `about` in it."""
    books = [{"id": key, **book} for key, book in BOOKS.items()]
    return {"books": [b for b in books if about.lower() in f"{b['title']} {b['author']}".lower()]}


def shelf(number: int) -> dict[str, Any]:
    """The page with the book of that number."""
    key = list(BOOKS)[number]
    following = f"/shelf?from={number + 1}" if number + 1 < len(BOOKS) else None
    return {"books": [{"id": key, **BOOKS[key]}], "next": following}


def prices() -> str:
    """A row for each book."""
    rows = [f'"{book["title"]}",{book["price"]}' for book in BOOKS.values()]
    return "\r\n".join(["title,price", *rows, ""])


def paid(invoice: str) -> dict[str, Any]:
    """How often an invoice was paid, and how much altogether."""
    amounts = [each["amount"] for each in PAYMENTS if each["invoice"] == invoice]
    return {"invoice": invoice, "times": len(amounts), "amount": sum(amounts)}


if __name__ == "__main__":
    port = int(sys.argv[1]) if sys.argv[1:] else 18765
    with ThreadingHTTPServer(("127.0.0.1", port), Bookshop) as server:
        print(f"bookshop on http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()
