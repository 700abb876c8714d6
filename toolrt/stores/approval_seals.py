"""Seals on what people said: a yes, or a standing one, without the right seal counts for nothing.

Whoever may write the database can write anything into its rows; a seal takes the lasting key, which
is not in it. So nothing runs on a vote that nobody gave, and `verify` finds it (A4, A20).
"""

import hmac
import json

from toolrt.stores.journal import is_same
from toolrt.stores.key import derived


class ApprovalSeals:
    """MACs under the key of the approvals, which is made of the lasting one."""

    def __init__(self, lasting_key: bytes) -> None:
        self._key = derived(lasting_key, "approvals")

    def made(self, kind: str, *told: object) -> str:
        """The seal on what is told; JSON values alone, of a fixed number for each kind."""
        message = json.dumps([kind, *told], default=repr, sort_keys=True).encode()
        return hmac.digest(self._key, message, "sha256").hex()

    def is_on(self, seal: str | None, kind: str, *told: object) -> bool:
        """Whether this is the seal on what is told."""
        return is_same(self.made(kind, *told), seal)
