"""Every URL of the service, on one page."""

from starlette.routing import BaseRoute, Route

from service.web import collections, documents, files, operations, sign_in, users

ROUTES: list[BaseRoute] = [
    Route("/auth-collections/signup", users.signup, methods=["POST"]),
    Route("/auth-collections/login", users.login, methods=["POST"]),
    Route("/auth-collections/user", users.profile, methods=["GET"]),
    Route("/auth-collections/user", users.update_profile, methods=["PUT"]),
    Route("/auth-collections/users", users.list_users, methods=["GET"]),
    Route("/auth-collections/jwks/{project_id}", users.jwks, methods=["GET"]),
    Route("/auth-collections/login-idp", sign_in.login_idp, methods=["GET"]),
    Route("/auth-collections/auth-idp-redirect/{project_id}", sign_in.callback, methods=["GET"]),
    # The specification's configuration example has the callback without the prefix.
    Route("/auth-idp-redirect/{project_id}", sign_in.callback, methods=["GET"]),
    Route("/api/collections", collections.list_collections, methods=["GET"]),
    Route("/api/collections", collections.create_collection, methods=["POST"]),
    Route("/api/collections/{name}", collections.get_collection, methods=["GET"]),
    Route("/api/collections/{name}", collections.change_collection, methods=["PATCH"]),
    Route("/api/collections/{name}", collections.delete_collection, methods=["DELETE"]),
    Route("/api/collections/{name}/documents", documents.list_documents, methods=["GET"]),
    Route("/api/collections/{name}/documents", documents.create_document, methods=["POST"]),
    Route("/api/collections/{name}/documents/{id}", documents.get_document, methods=["GET"]),
    Route("/api/collections/{name}/documents/{id}", documents.replace_document, methods=["PUT"]),
    Route("/api/collections/{name}/documents/{id}", documents.merge_document, methods=["PATCH"]),
    Route("/api/collections/{name}/documents/{id}", documents.delete_document, methods=["DELETE"]),
    Route("/files/{file_name}", files.read_file, methods=["GET"]),
    Route("/health/live", operations.live, methods=["GET"]),
    Route("/health/ready", operations.ready, methods=["GET"]),
    Route("/metrics", operations.metrics, methods=["GET"]),
]
