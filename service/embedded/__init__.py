"""A MongoDB of our own, for a machine that has none."""
