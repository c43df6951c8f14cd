"""Second factors: what they are, and judging them."""
