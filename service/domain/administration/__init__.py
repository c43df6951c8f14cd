"""Changes that a project's servers make to its users."""
