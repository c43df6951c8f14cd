"""Who asks, and how often they may."""
