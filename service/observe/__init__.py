"""The service's log and its metrics."""
