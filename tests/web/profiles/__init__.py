"""The schema of profiles over HTTP."""
