"""A project's users, administered with its secret key."""
