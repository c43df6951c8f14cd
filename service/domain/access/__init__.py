"""Callers, and their permissions."""
