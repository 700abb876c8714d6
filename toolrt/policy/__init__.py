"""Decisions and approvals: whether a call may run, and who must say so first."""
