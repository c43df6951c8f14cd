"""Sign-in through a provider over HTTP."""
