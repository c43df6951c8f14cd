"""Every URL of the service, on one page, in the order of the OpenAPI document.

The declaration of an endpoint, beside its handler, has its demands, body and answers (`web/openapi/endpoint`). The service
does not start where the page and the declarations differ. The rows of `OLD` have their description in `openapi.py` yet.
"""

from service.bounds import MAX_AGGREGATION_BYTES, MAX_IMPORT_BYTES, MAX_JSON_BYTES
from service.domain.limits.policies import AUTH, DAILY, DAILY_BY_RULE, FILES
from service.web.accounts import endpoints as accounts
from service.web.accounts import signup, users
from service.web.administration import endpoints as administration
from service.web.aggregations import endpoints as aggregations
from service.web.aggregations import openapi as describe_aggregations
from service.web.auth.authenticate import Credential
from service.web.batches import endpoints as batches
from service.web.batches import openapi as describe_batches
from service.web.collections import endpoints as collections
from service.web.collections import openapi as describe_collections
from service.web.docs_ui import endpoints as docs
from service.web.docs_ui import openapi as describe_docs
from service.web.documents import bulk, transfers
from service.web.documents import endpoints as documents
from service.web.documents import openapi as describe_documents
from service.web.documents import openapi_of_many as describe_many
from service.web.events import endpoints as events
from service.web.events import openapi as describe_events
from service.web.factors import endpoints as factors
from service.web.factors import passkeys
from service.web.files import endpoints as files
from service.web.files import openapi as describe_files
from service.web.flows import endpoints as flows
from service.web.flows import links
from service.web.mails import endpoints as mails
from service.web.mails import openapi as describe_mails
from service.web.openapi.api_route import ApiRoute, KeyUse, Query
from service.web.openapi.endpoint import arrange, find_declared
from service.web.operations import endpoints as operations
from service.web.operations import openapi as describe_operations
from service.web.realtime import endpoints as realtime
from service.web.realtime import event_streams
from service.web.realtime import openapi as describe_realtime
from service.web.rules import endpoints as rules
from service.web.rules import openapi as describe_rules
from service.web.sessions import endpoints as sessions
from service.web.sign_in import endpoints as sign_in
from service.web.sign_in import identities, posted, tokens

NOBODY, METRICS_TOKEN = Credential.NONE, Credential.METRICS_TOKEN
KEY, OPTIONAL_KEY, USER = Credential.API_KEY, Credential.OPTIONAL_API_KEY, Credential.USER_TOKEN
ANY_KEY, BY_RULE, KEY_OR_USER = Credential.ANY_KEY, Credential.BY_RULE, Credential.KEY_OR_USER
RECENT_USER, OPTIONAL_USER = Credential.RECENT_USER, Credential.OPTIONAL_USER
KEY_OR_RECENT_USER = Credential.KEY_OR_RECENT_USER
PROJECT_IN_PATH, FILE_NAME = Credential.PROJECT_IN_PATH, Credential.FILE_NAME
READ, IGNORED = Query.READ, Query.IGNORED

PROFILE = "/auth-collections/user"
SESSIONS = f"{PROFILE}/sessions"
IDENTITIES = f"{PROFILE}/identities"
FACTORS = f"{PROFILE}/factors"
USERS = "/auth-collections/users"
ONE_USER = f"{USERS}/{{id}}"
QUERY_USERS = f"{USERS}/query"
MAILS = "/auth-collections/mails"
CALLBACK = "/auth-idp-redirect/{project_id}"
COLLECTIONS = "/api/collections"
COLLECTION = f"{COLLECTIONS}/{{name}}"
DOCUMENTS = f"{COLLECTION}/documents"
QUERY_DOCUMENTS = f"{COLLECTION}/query"
DOCUMENT = f"{DOCUMENTS}/{{id}}"
RULES = "/api/rules"
AGGREGATIONS = "/api/aggregations"
AGGREGATION = f"{AGGREGATIONS}/{{name}}"

PAGE = """
POST   /auth-collections/signup
POST   /auth-collections/login
POST   /auth-collections/verify-email
POST   /auth-collections/login-email
POST   /auth-collections/forgot-password
POST   /auth-collections/reset-password
GET    /auth-collections/link
POST   /auth-collections/link
POST   /auth-collections/confirm
GET    /auth-collections/mails
POST   /auth-collections/mails/{id}/retry
GET    /auth-collections/user
PUT    /auth-collections/user
DELETE /auth-collections/user
POST   /auth-collections/user/password
POST   /auth-collections/user/email
GET    /auth-collections/user/events
GET    /auth-collections/events
POST   /auth-collections/refresh
POST   /auth-collections/logout
GET    /auth-collections/user/sessions
DELETE /auth-collections/user/sessions
DELETE /auth-collections/user/sessions/{id}
POST   /auth-collections/user/step-up
POST   /auth-collections/login-factor
POST   /auth-collections/login-factor/options
POST   /auth-collections/user/step-up/options
POST   /auth-collections/login-passkey/options
POST   /auth-collections/login-passkey
POST   /auth-collections/user/factors/passkey/options
POST   /auth-collections/user/factors/passkey
GET    /auth-collections/user/factors
POST   /auth-collections/user/factors/totp
POST   /auth-collections/user/factors/totp/{id}/confirm
PATCH  /auth-collections/user/factors/{id}
DELETE /auth-collections/user/factors/{id}
POST   /auth-collections/user/recovery-codes
GET    /auth-collections/users
GET    /auth-collections/users/distinct
POST   /auth-collections/users/query
QUERY  /auth-collections/users
GET    /auth-collections/users/{id}
POST   /auth-collections/users
PATCH  /auth-collections/users/{id}
DELETE /auth-collections/users/{id}
PUT    /auth-collections/users/{id}/password
GET    /auth-collections/users/{id}/sessions
DELETE /auth-collections/users/{id}/sessions
DELETE /auth-collections/users/{id}/factors
POST   /auth-collections/users/{id}/links
PUT    /auth-collections/users/{id}/roles
GET    /auth-collections/jwks/{project_id}
GET    /auth-collections/login-idp
GET    /auth-collections/auth-idp-redirect/{project_id}
GET    /auth-collections/auth-idp-redirect/{project_id}/{provider}
POST   /auth-collections/token
POST   /auth-collections/auth-idp-redirect/{project_id}/{provider}
POST   /auth-collections/login-id-token/options
POST   /auth-collections/login-id-token
GET    /auth-collections/user/identities
POST   /auth-collections/user/identities
POST   /auth-collections/user/identities/confirm
DELETE /auth-collections/user/identities/{id}
GET    /auth-collections/sign-in-methods
GET    /auth-idp-redirect/{project_id}
GET    /api/collections
POST   /api/collections
GET    /api/collections/{name}
PATCH  /api/collections/{name}
DELETE /api/collections/{name}
GET    /api/collections/{name}/documents
GET    /api/collections/{name}/distinct
POST   /api/collections/{name}/query
QUERY  /api/collections/{name}/documents
POST   /api/collections/{name}/documents
PUT    /api/collections/{name}/documents
GET    /api/collections/{name}/export
POST   /api/collections/{name}/import
POST   /api/collections/{name}/update
POST   /api/collections/{name}/delete
GET    /api/collections/{name}/documents/{id}
PUT    /api/collections/{name}/documents/{id}
PATCH  /api/collections/{name}/documents/{id}
DELETE /api/collections/{name}/documents/{id}
POST   /api/collections/{name}/aggregate
POST   /auth-collections/users/aggregate
GET    /api/aggregations
PUT    /api/aggregations/{name}
GET    /api/aggregations/{name}
DELETE /api/aggregations/{name}
POST   /api/batch
GET    /realtime
GET    /api/rules
PUT    /api/rules
POST   /api/rules/explain
GET    /files/{file_name}
POST   /api/files/sign
GET    /mailbox
GET    /mailbox/messages
GET    /mailbox/{asset}
GET    /
GET    /health/live
GET    /health/ready
GET    /metrics
GET    /openapi.json
GET    /docs
GET    /docs/{asset}
"""

# fmt: off
OLD: list[ApiRoute] = [
    ApiRoute("GET", MAILS, mails.list_mails, KEY, AUTH, describe_mails.LIST, query=READ),
    ApiRoute("POST", f"{MAILS}/{{id}}/retry", mails.retry_mail, KEY, AUTH, describe_mails.RETRY),
    ApiRoute("GET", f"{PROFILE}/events", events.own_events, USER, AUTH, describe_events.OWN, query=READ),
    ApiRoute("GET", "/auth-collections/events", events.project_events, KEY, AUTH, describe_events.PROJECT, query=READ),
    ApiRoute("GET", COLLECTIONS, collections.list_collections, KEY, DAILY, describe_collections.LIST),
    ApiRoute("POST", COLLECTIONS, collections.create_collection, KEY, DAILY, describe_collections.CREATE,
             max_body=MAX_JSON_BYTES),
    ApiRoute("GET", COLLECTION, collections.get_collection, KEY, DAILY, describe_collections.READ),
    ApiRoute("PATCH", COLLECTION, collections.change_collection, KEY, DAILY, describe_collections.CHANGE,
             query=READ, max_body=MAX_JSON_BYTES, answer_seconds=collections.CHANGE_ANSWER_SECONDS),
    ApiRoute("DELETE", COLLECTION, collections.delete_collection, KEY, DAILY, describe_collections.DELETE),
    ApiRoute("GET", DOCUMENTS, documents.list_documents, BY_RULE, DAILY,
             describe_realtime.with_events(describe_documents.LIST), query=READ, events=event_streams.follow_documents),
    ApiRoute("GET", f"{COLLECTION}/distinct", documents.distinct_documents, KEY, DAILY, describe_documents.DISTINCT,
             query=READ),
    ApiRoute("POST", QUERY_DOCUMENTS, documents.query_documents, BY_RULE, DAILY, describe_documents.QUERY,
             max_body=MAX_JSON_BYTES, idempotency_key=KeyUse.IGNORED),
    ApiRoute("QUERY", DOCUMENTS, documents.query_documents, BY_RULE, DAILY, describe_documents.QUERY,
             max_body=MAX_JSON_BYTES, idempotency_key=KeyUse.IGNORED),
    ApiRoute("POST", DOCUMENTS, documents.create_document, BY_RULE, DAILY, describe_documents.CREATE,
             max_body=MAX_JSON_BYTES, idempotency_key=KeyUse.TAKEN),
    ApiRoute("PUT", DOCUMENTS, documents.upsert_document, BY_RULE, DAILY, describe_documents.UPSERT,
             query=READ, max_body=MAX_JSON_BYTES),
    ApiRoute("GET", f"{COLLECTION}/export", transfers.export_documents, KEY, DAILY, describe_many.EXPORT,
             query=READ, answer_seconds=transfers.EXPORT_ANSWER_SECONDS, takes_head=False),
    ApiRoute("POST", f"{COLLECTION}/import", transfers.import_documents, KEY, DAILY, describe_many.IMPORT,
             query=READ, max_body=MAX_IMPORT_BYTES, answer_seconds=transfers.IMPORT_ANSWER_SECONDS),
    ApiRoute("POST", f"{COLLECTION}/update", bulk.update_documents, KEY, DAILY, describe_many.BULK_UPDATE,
             query=READ, max_body=MAX_JSON_BYTES, answer_seconds=bulk.ANSWER_SECONDS),
    ApiRoute("POST", f"{COLLECTION}/delete", bulk.delete_documents, KEY, DAILY, describe_many.BULK_DELETE,
             query=READ, max_body=MAX_JSON_BYTES, answer_seconds=bulk.ANSWER_SECONDS),
    ApiRoute("GET", DOCUMENT, documents.get_document, BY_RULE, DAILY, describe_documents.READ),
    ApiRoute("PUT", DOCUMENT, documents.replace_document, BY_RULE, DAILY, describe_documents.REPLACE, max_body=MAX_JSON_BYTES),
    ApiRoute("PATCH", DOCUMENT, documents.merge_document, BY_RULE, DAILY, describe_documents.MERGE,
             max_body=MAX_JSON_BYTES, idempotency_key=KeyUse.TAKEN),
    ApiRoute("DELETE", DOCUMENT, documents.delete_document, BY_RULE, DAILY, describe_documents.DELETE),
    ApiRoute("POST", f"{COLLECTION}/aggregate", aggregations.aggregate_documents, KEY, DAILY,
             describe_aggregations.AGGREGATE_DOCUMENTS, max_body=MAX_JSON_BYTES, idempotency_key=KeyUse.IGNORED),
    ApiRoute("POST", f"{USERS}/aggregate", aggregations.aggregate_users, KEY, AUTH, describe_aggregations.AGGREGATE_USERS,
             max_body=MAX_JSON_BYTES, idempotency_key=KeyUse.IGNORED),
    ApiRoute("GET", AGGREGATIONS, aggregations.list_aggregations, KEY, DAILY, describe_aggregations.LIST),
    ApiRoute("PUT", AGGREGATION, aggregations.save_aggregation, KEY, DAILY, describe_aggregations.SAVE,
             max_body=MAX_AGGREGATION_BYTES),
    ApiRoute("GET", AGGREGATION, aggregations.run_aggregation, BY_RULE, DAILY, describe_aggregations.RUN, query=READ),
    ApiRoute("DELETE", AGGREGATION, aggregations.delete_aggregation, KEY, DAILY, describe_aggregations.DELETE),
    ApiRoute("POST", "/api/batch", batches.run_batch, BY_RULE, DAILY, describe_batches.RUN,
             max_body=MAX_JSON_BYTES, idempotency_key=KeyUse.TAKEN),
    ApiRoute("GET", "/realtime", realtime.open_socket, NOBODY, None, describe_realtime.OPEN, query=IGNORED),
    ApiRoute("GET", RULES, rules.read_rules, KEY, DAILY, describe_rules.READ),
    ApiRoute("PUT", RULES, rules.save_rules, KEY, DAILY, describe_rules.SAVE,
             query=READ, max_body=MAX_JSON_BYTES, answer_seconds=rules.SAVE_ANSWER_SECONDS),
    ApiRoute("POST", f"{RULES}/explain", rules.explain_rules, KEY, DAILY, describe_rules.EXPLAIN_RULES,
             max_body=MAX_JSON_BYTES, idempotency_key=KeyUse.IGNORED),
    ApiRoute("GET", "/files/{file_name}", files.read_file, FILE_NAME, FILES, describe_files.READ, query=READ),
    ApiRoute("POST", "/api/files/sign", files.sign_urls, KEY_OR_USER, DAILY_BY_RULE, describe_files.SIGN,
             max_body=MAX_JSON_BYTES, idempotency_key=KeyUse.IGNORED),
    ApiRoute("GET", "/mailbox", mails.mailbox, NOBODY, None, describe_mails.MAILBOX, query=IGNORED),
    ApiRoute("GET", "/mailbox/messages", mails.messages, NOBODY, None, describe_mails.MESSAGES, query=IGNORED),
    ApiRoute("GET", "/mailbox/{asset}", mails.asset, NOBODY, None, describe_mails.ASSET, query=IGNORED),
    ApiRoute("GET", "/", operations.landing, NOBODY, None, describe_operations.LANDING, query=IGNORED),
    ApiRoute("GET", "/health/live", operations.liveness, NOBODY, None, describe_operations.LIVE, query=IGNORED),
    ApiRoute("GET", "/health/ready", operations.readiness, NOBODY, None, describe_operations.READY, query=IGNORED),
    ApiRoute("GET", "/metrics", operations.metrics, METRICS_TOKEN, None, describe_operations.METRICS, query=IGNORED),
    ApiRoute("GET", "/openapi.json", docs.openapi_document, NOBODY, None, describe_docs.DOCUMENT, query=IGNORED),
    ApiRoute("GET", "/docs", docs.page, NOBODY, None, describe_docs.PAGE, query=IGNORED),
    ApiRoute("GET", "/docs/{asset}", docs.asset, NOBODY, None, describe_docs.ASSET, query=IGNORED),
]
# fmt: on
MODULES = (
    accounts,
    administration,
    factors,
    flows,
    identities,
    links,
    passkeys,
    posted,
    sessions,
    sign_in,
    signup,
    tokens,
    users,
)
ROUTES = arrange(PAGE, [*OLD, *find_declared(MODULES)])
