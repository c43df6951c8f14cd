"""The synchronous client. `clients/python/unasync` writes its modules from `_async`, all but this one and `seam.py`."""
