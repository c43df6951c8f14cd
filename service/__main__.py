"""The command line's entry: `python -m service` and the console script `auth-collections`."""
