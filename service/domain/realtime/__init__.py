"""Queries that are followed: what they find now, and what of it changes, as far as the project's rules let somebody read it."""
