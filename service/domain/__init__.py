"""What the product does. Knows no HTTP and no driver."""
