"""Tokens of signed-in users."""
