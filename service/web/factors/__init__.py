"""Second factors over HTTP."""
