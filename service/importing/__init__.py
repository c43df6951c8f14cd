"""Data of other backends comes into a project: sources are read as they are, and written by the ordinary checks."""
