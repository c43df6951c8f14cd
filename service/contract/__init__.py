"""A project's own contract, pure: its schemas and rules → TypeScript, Python and the OpenAPI document of one view."""
