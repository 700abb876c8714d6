"""The one door for every call, and the stages behind it."""
