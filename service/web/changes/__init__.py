"""The feed of a project over HTTP."""
