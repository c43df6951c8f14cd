"""Declared collections over HTTP."""
