"""The three little languages: CEL conditions, templates with slots, JMESPath; and references."""
