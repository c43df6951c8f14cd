"""The Admin API of views."""
