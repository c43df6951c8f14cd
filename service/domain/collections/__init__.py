"""Declared collections and changes of their schemas."""
