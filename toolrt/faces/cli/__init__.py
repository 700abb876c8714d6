"""The command line: one file a verb, flags and code together; `main` holds the table of verbs."""
