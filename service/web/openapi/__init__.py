"""The OpenAPI 3.1 document: a declaration beside each route, and one builder that reads them.

declaration  what an endpoint takes and answers; `ApiRoute`, which cannot be made without one
shapes       the schemas of records and of JSON values
listing      the query language's parameters, from its own operators and limits
failures     the error tree as answers with examples
accounts, sign_in, collections, files, operations    the declarations, one module for each module of handlers
document     ROUTES → the document
"""
