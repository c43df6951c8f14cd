"""The documents of declared collections."""
