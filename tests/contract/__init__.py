"""A project's own contract: its types and its document."""
