"""A project's own contract: the texts of its types and of its OpenAPI document, by view."""
