"""Every URL of the service, on one page, each with its handler and what the OpenAPI document says of it."""

from service.web.accounts import endpoints as users
from service.web.accounts import openapi as describe_accounts
from service.web.collections import endpoints as collections
from service.web.collections import openapi as describe_collections
from service.web.docs_ui import endpoints as docs
from service.web.docs_ui import openapi as describe_docs
from service.web.documents import endpoints as documents
from service.web.documents import openapi as describe_documents
from service.web.files import endpoints as files
from service.web.files import openapi as describe_files
from service.web.openapi.declaration import ApiRoute
from service.web.operations import endpoints as operations
from service.web.operations import openapi as describe_operations
from service.web.sign_in import endpoints as sign_in
from service.web.sign_in import openapi as describe_sign_in

ROUTES: list[ApiRoute] = [
    ApiRoute("POST", "/auth-collections/signup", users.signup, describe_accounts.SIGNUP),
    ApiRoute("POST", "/auth-collections/login", users.login, describe_accounts.LOGIN),
    ApiRoute("GET", "/auth-collections/user", users.profile, describe_accounts.READ_PROFILE),
    ApiRoute("PUT", "/auth-collections/user", users.update_profile, describe_accounts.UPDATE_PROFILE),
    ApiRoute("GET", "/auth-collections/users", users.list_users, describe_accounts.LIST_USERS),
    ApiRoute("GET", "/auth-collections/jwks/{project_id}", users.jwks, describe_accounts.JWKS),
    ApiRoute("GET", "/auth-collections/login-idp", sign_in.login_idp, describe_sign_in.LOGIN),
    ApiRoute("GET", "/auth-collections/auth-idp-redirect/{project_id}", sign_in.callback, describe_sign_in.CALLBACK),
    # The specification's configuration example has the callback without the prefix.
    ApiRoute("GET", "/auth-idp-redirect/{project_id}", sign_in.callback, describe_sign_in.SHORT_CALLBACK),
    ApiRoute("GET", "/api/collections", collections.list_collections, describe_collections.LIST),
    ApiRoute("POST", "/api/collections", collections.create_collection, describe_collections.CREATE),
    ApiRoute("GET", "/api/collections/{name}", collections.get_collection, describe_collections.READ),
    ApiRoute("PATCH", "/api/collections/{name}", collections.change_collection, describe_collections.CHANGE),
    ApiRoute("DELETE", "/api/collections/{name}", collections.delete_collection, describe_collections.DELETE),
    ApiRoute("GET", "/api/collections/{name}/documents", documents.list_documents, describe_documents.LIST),
    ApiRoute("POST", "/api/collections/{name}/documents", documents.create_document, describe_documents.CREATE),
    ApiRoute("GET", "/api/collections/{name}/documents/{id}", documents.get_document, describe_documents.READ),
    ApiRoute("PUT", "/api/collections/{name}/documents/{id}", documents.replace_document, describe_documents.REPLACE),
    ApiRoute("PATCH", "/api/collections/{name}/documents/{id}", documents.merge_document, describe_documents.MERGE),
    ApiRoute("DELETE", "/api/collections/{name}/documents/{id}", documents.delete_document, describe_documents.DELETE),
    ApiRoute("GET", "/files/{file_name}", files.read_file, describe_files.READ),
    ApiRoute("GET", "/health/live", operations.liveness, describe_operations.LIVE),
    ApiRoute("GET", "/health/ready", operations.readiness, describe_operations.READY),
    ApiRoute("GET", "/metrics", operations.metrics, describe_operations.METRICS),
    ApiRoute("GET", "/openapi.json", docs.openapi_document, describe_docs.DOCUMENT),
    ApiRoute("GET", "/docs", docs.page, describe_docs.PAGE),
    ApiRoute("GET", "/docs/{asset}", docs.asset, describe_docs.ASSET),
]
