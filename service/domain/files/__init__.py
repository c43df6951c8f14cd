"""Files that users send: received, judged, named, read back, swept."""
