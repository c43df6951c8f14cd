"""Files over HTTP."""
