"""Sign-in through an identity provider."""
