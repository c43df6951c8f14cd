"""Aggregations over HTTP."""
