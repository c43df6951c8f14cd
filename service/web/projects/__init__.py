"""Projects, administered by operators."""
