"""Bodies, headers and answers, as HTTP has them."""
