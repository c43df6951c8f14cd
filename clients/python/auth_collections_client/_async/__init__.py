"""The asynchronous client: the source of both. `clients/python/unasync` makes `_sync` of it, without `seam.py`."""
