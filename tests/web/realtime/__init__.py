"""Queries that are followed."""
