"""Tests of the log of requests."""
