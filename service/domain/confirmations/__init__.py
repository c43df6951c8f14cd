"""The effects of codes and links."""
