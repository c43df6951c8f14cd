"""Requests that the service makes to other servers: to providers, and to addresses that a project names."""
