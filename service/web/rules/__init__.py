"""Access rules over HTTP."""
