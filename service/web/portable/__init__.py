"""The Admin API of backups, restores and long jobs."""
