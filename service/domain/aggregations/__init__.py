"""Aggregations of the records of a project, ad hoc and saved."""
