"""The product's functions. Knows no HTTP and no driver."""
