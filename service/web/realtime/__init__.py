"""Queries that are followed over a WebSocket."""
