"""Operators over HTTP: their sessions, factors, tokens and invitations."""
