"""Projects: their settings, secrets and lookup."""
