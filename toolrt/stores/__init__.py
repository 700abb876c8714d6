"""What outlives a process: approvals, grants and the journal, in one database."""
