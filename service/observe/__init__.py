"""What the service says of itself: its log and its metrics."""
