"""What a project's servers do to its users."""
