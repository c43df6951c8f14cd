"""Many operations in one request, together or each for itself."""
