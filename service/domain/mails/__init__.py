"""The mails of flows: their way out, and those that are kept because there is no server."""
