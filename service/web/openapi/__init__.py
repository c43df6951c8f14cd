"""The OpenAPI 3.1 document: a declaration beside each handler, and one builder that reads them.

endpoint          the declaration, which makes the route; the order of all routes
signature         the form of the body and the answers, as a handler's signature names them
declaration       the parts of a description: parameters, contents, answers, tags
shapes            the types that bodies are declared with, and their schemas
query_parameters  the query language's parameters, from its own operators and limits
failures          the error tree as answers with examples
document          routes → the document
"""
