"""Callers, and the limits of their requests."""
