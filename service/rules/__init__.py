"""The rules of a project: read from their document, bound to one caller, and judged. Pure."""
