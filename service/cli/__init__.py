"""The command line: `auth-collections`."""
