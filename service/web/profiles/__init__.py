"""The schema of users' profiles over HTTP."""
