"""The events of a project's users."""
