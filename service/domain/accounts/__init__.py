"""A project's users and their passwords."""
