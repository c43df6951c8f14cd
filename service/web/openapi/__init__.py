"""The OpenAPI 3.1 document: a declaration beside each route, and one builder that reads them.

api_route         a row of `web/routes`: what `web/asgi/router` decides before the handler runs
declaration       what the document says of an endpoint
shapes            the types that bodies are declared with, and their schemas
query_parameters  the query language's parameters, from its own operators and limits
failures          the error tree as answers with examples
document          ROUTES → the document

Each capability has its own `bodies` (the types) and `openapi` (the declarations).
"""
