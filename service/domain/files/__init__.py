"""Files that users send: received, judged, named, protected, read back, swept."""
