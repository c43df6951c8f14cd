"""The largest permitted input of each kind to each endpoint, and what others feel of it: `scripts/fuzz --quantity`."""
