"""The layers around every request, in pure ASGI."""
