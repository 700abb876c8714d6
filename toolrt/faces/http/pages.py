"""The pages that people look at with a browser: made here whole, without scripts or anything else
from elsewhere. Whatever came from a model or a tool is escaped by the templates, and shown as told.
"""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import HTMLResponse, Response

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER: Final = Path(__file__).parent / "pages"


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - few servers show pages

    return Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _style() -> str:
    return (_FOLDER / "style.css").read_text(encoding="utf-8")


@cache
def _headers() -> dict[str, str]:
    """Nothing is loaded or framed, and forms go to this server alone."""
    hash_ = b64encode(sha256(_style().encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{hash_}'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    )
    return {
        "content-security-policy": policy,
        "cache-control": "no-store",
        "referrer-policy": "same-origin",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "cross-origin-opener-policy": "same-origin",
    }


def page(name: str, status: int = 200, **given: Any) -> Response:
    """The page `name` of what is `given`: at least its title, and `me` and `csrf` for a person."""
    usual: dict[str, Any] = {"me": None, "csrf": "", "said": "", "is_bad": False}
    text = _environment().get_template(f"{name}.html").render(usual | given | {"style": _style()})
    return HTMLResponse(text, status, _headers())
