"""What happened to a project's users."""
