"""Retry budgets: a target that keeps failing is not hammered.

A bucket of 100 a target. A retry costs 10, or 5 when the target asked to slow down; a success
gives 1 back. With a target that always fails, attempts stay below 1.2 times the calls once the
bucket is empty (Kleppmann's and AWS's token bucket for retries: "Exponential Backoff And Jitter",
AWS Architecture Blog, and the AWS SDKs' standard retry mode).
"""

FULL = 100.0
RETRY_COST = 10.0
THROTTLE_COST = 5.0
_THROTTLED = frozenset({429, 503})


class RetryBudget:
    """The bucket of one target."""

    __slots__ = ("level",)

    def __init__(self) -> None:
        self.level = FULL

    def take(self, status: int | None) -> bool:
        """Pay for a retry after `status`; False when the bucket does not hold enough."""
        cost = THROTTLE_COST if status in _THROTTLED else RETRY_COST
        if self.level < cost:
            return False
        self.level -= cost
        return True

    def refill(self) -> None:
        """A success."""
        if self.level < FULL:
            self.level = min(FULL, self.level + 1)


class RetryBudgets:
    """The budgets of a runtime, by target or else by tool, whatever these are named."""

    def __init__(self) -> None:
        self._budgets: dict[tuple[bool, str], RetryBudget] = {}

    def of(self, target: str | None, tool: str) -> RetryBudget:
        """The budget of a tool: that of its target, where it has one."""
        key = (target is not None, target or tool)
        return self._budgets.setdefault(key, RetryBudget())
