"""The events of a project's users, for its servers and for each user."""
