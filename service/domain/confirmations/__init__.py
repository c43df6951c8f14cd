"""What codes and links bring about."""
