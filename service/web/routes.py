"""Every URL of the service, on one page, in the order of the OpenAPI document.

The declaration of an endpoint, beside its handler, has its demands, body and answers (`web/openapi/endpoint`). The service
does not start where the page and the declarations differ.
"""

from service.web import audit, contracts, events, profiles, rules, views
from service.web.accounts import anonymous, signup, users
from service.web.accounts import endpoints as accounts
from service.web.administration import endpoints as administration
from service.web.administration import sign_in_state
from service.web.aggregations import endpoints as aggregations
from service.web.auth.authenticate import OF_OPERATORS
from service.web.batches import endpoints as batches
from service.web.changes import endpoints as changes
from service.web.collections import endpoints as collections
from service.web.console import endpoints as console
from service.web.docs_ui import endpoints as docs
from service.web.documents import bulk, exports, imports, infer, reading
from service.web.documents import endpoints as documents
from service.web.factors import endpoints as factors
from service.web.factors import passkeys
from service.web.files import endpoints as files
from service.web.files import listing
from service.web.flows import endpoints as flows
from service.web.flows import links
from service.web.mails import endpoints as mails
from service.web.openapi.endpoint import arrange, find_declared, mirror
from service.web.operations import endpoints as operations
from service.web.operators import acting, me, system
from service.web.operators import endpoints as operators
from service.web.operators import sign_in as operator_sign_in
from service.web.portable import download, jobs
from service.web.portable import endpoints as portable
from service.web.projects import endpoints as projects
from service.web.projects import keys as project_keys
from service.web.projects import mail as project_mail
from service.web.projects import providers as project_providers
from service.web.projects import settings as project_settings
from service.web.realtime import sockets as realtime
from service.web.sessions import endpoints as sessions
from service.web.sessions import introspection
from service.web.sign_in import captcha, identities, posted, tokens
from service.web.sign_in import endpoints as sign_in
from service.web.traffic import endpoints as traffic
from service.web.traffic import live, usage

MODULES = (
    accounts,
    administration,
    aggregations,
    anonymous,
    batches,
    bulk,
    captcha,
    changes,
    collections,
    contracts,
    docs,
    documents,
    events,
    exports,
    factors,
    files,
    flows,
    identities,
    imports,
    introspection,
    links,
    mails,
    operations,
    passkeys,
    posted,
    profiles,
    reading,
    realtime,
    rules,
    sessions,
    sign_in,
    signup,
    tokens,
    users,
)
PAGE = """
POST   /auth-collections/signup
POST   /auth-collections/signup-anonymous
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
POST   /auth-collections/user/upgrade
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
GET    /auth-collections/schema
PUT    /auth-collections/schema
GET    /auth-collections/jwks/{project_id}
POST   /auth-collections/introspect
GET    /auth-collections/issuer/{project_id}/.well-known/openid-configuration
GET    /.well-known/openid-configuration/auth-collections/issuer/{project_id}
GET    /.well-known/oauth-authorization-server/auth-collections/issuer/{project_id}
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
GET    /auth-collections/captcha
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
GET    /api/changes
GET    /realtime
GET    /api/openapi.json
GET    /api/types
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

# The rows of the Admin API that are its own. Those of the page above that declare an `operator` follow them.
ADMIN_MODULES = (
    audit,
    contracts,
    acting,
    docs,
    download,
    infer,
    jobs,
    listing,
    live,
    me,
    operator_sign_in,
    operators,
    portable,
    project_keys,
    project_mail,
    project_providers,
    project_settings,
    projects,
    sign_in_state,
    system,
    traffic,
    usage,
    views,
)
ADMIN_PAGE = """
POST   /admin/v1/session
GET    /admin/v1/session
DELETE /admin/v1/session
POST   /admin/v1/session/factor
POST   /admin/v1/session/confirm
POST   /admin/v1/invitations/check
POST   /admin/v1/invitations/accept
GET    /admin/v1/me/sessions
DELETE /admin/v1/me/sessions/{id}
PUT    /admin/v1/me/password
POST   /admin/v1/me/totp
POST   /admin/v1/me/totp/confirm
DELETE /admin/v1/me/totp
POST   /admin/v1/me/recovery-codes
GET    /admin/v1/me/tokens
POST   /admin/v1/me/tokens
DELETE /admin/v1/me/tokens/{id}
GET    /admin/v1/operators
POST   /admin/v1/operators
GET    /admin/v1/operators/{id}
PATCH  /admin/v1/operators/{id}
DELETE /admin/v1/operators/{id}
POST   /admin/v1/operators/{id}/reset
DELETE /admin/v1/operators/{id}/sessions
GET    /admin/v1/invitations
DELETE /admin/v1/invitations/{id}
GET    /admin/v1/projects
POST   /admin/v1/projects
GET    /admin/v1/projects/{project_id}
PATCH  /admin/v1/projects/{project_id}
POST   /admin/v1/projects/{project_id}/deletion
GET    /admin/v1/settings-schema
GET    /admin/v1/projects/{project_id}/settings
PATCH  /admin/v1/projects/{project_id}/settings
GET    /admin/v1/projects/{project_id}/keys
POST   /admin/v1/projects/{project_id}/keys
POST   /admin/v1/projects/{project_id}/keys/rotate
DELETE /admin/v1/projects/{project_id}/keys/{id}
POST   /admin/v1/projects/{project_id}/signing-key/rotate
GET    /admin/v1/provider-presets
GET    /admin/v1/projects/{project_id}/providers
GET    /admin/v1/projects/{project_id}/providers/{name}
PUT    /admin/v1/projects/{project_id}/providers/{name}
DELETE /admin/v1/projects/{project_id}/providers/{name}
POST   /admin/v1/projects/{project_id}/providers/{name}/check
POST   /admin/v1/projects/{project_id}/smtp-test
GET    /admin/v1/projects/{project_id}/mailbox
GET    /admin/v1/projects/{project_id}/mailbox/{id}/html
GET    /admin/v1/audit
GET    /admin/v1/projects/{project_id}/audit
GET    /admin/v1/projects/{project_id}/files
GET    /admin/v1/projects/{project_id}/users/{id}/sign-in
POST   /admin/v1/projects/{project_id}/infer
GET    /admin/v1/projects/{project_id}/views
POST   /admin/v1/projects/{project_id}/views
PATCH  /admin/v1/projects/{project_id}/views/{id}
DELETE /admin/v1/projects/{project_id}/views/{id}
POST   /admin/v1/projects/{project_id}/users/{id}/act-as
DELETE /admin/v1/projects/{project_id}/users/{id}/act-as/{sid}
GET    /admin/v1/projects/{project_id}/requests
GET    /admin/v1/usage
GET    /admin/v1/projects/{project_id}/usage
GET    /admin/v1/projects/{project_id}/live
POST   /admin/v1/projects/{project_id}/backups
GET    /admin/v1/projects/{project_id}/backups
GET    /admin/v1/projects/{project_id}/backups/{id}
GET    /admin/v1/projects/{project_id}/backups/{id}/file
PATCH  /admin/v1/projects/{project_id}/backups/{id}
DELETE /admin/v1/projects/{project_id}/backups/{id}
POST   /admin/v1/projects/{project_id}/backups/{id}/verify
POST   /admin/v1/projects/{project_id}/clone
GET    /admin/v1/projects/{project_id}/jobs
GET    /admin/v1/projects/{project_id}/jobs/{id}
POST   /admin/v1/projects/{project_id}/jobs/{id}/cancel
GET    /admin/v1/backups
POST   /admin/v1/restores
GET    /admin/v1/jobs
GET    /admin/v1/jobs/{id}
POST   /admin/v1/jobs/{id}/cancel
GET    /admin/v1/projects/{project_id}/openapi.json
GET    /admin/v1/projects/{project_id}/types
GET    /admin/v1/openapi.json
GET    /admin/v1/system
"""

# The console, which no document describes.
CONSOLE_PAGE = """
GET    /console
GET    /console/
GET    /console/a/{version}/{folder}/{name}
"""

ROUTES = arrange(PAGE, (route for route in find_declared(MODULES) if route.credential not in OF_OPERATORS))
OWN_ROUTES = arrange(ADMIN_PAGE, (route for route in find_declared(ADMIN_MODULES) if route.credential in OF_OPERATORS))
ADMIN_ROUTES = [*OWN_ROUTES, *mirror(ROUTES)]
CONSOLE_ROUTES = arrange(CONSOLE_PAGE, find_declared((console,)))
