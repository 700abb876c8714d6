"""What a user may write, as pydantic models: tools, targets, policies, the project."""
