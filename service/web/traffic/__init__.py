"""The traffic of a project over HTTP."""
