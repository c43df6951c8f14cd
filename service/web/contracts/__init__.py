"""A project's own contract over HTTP."""
