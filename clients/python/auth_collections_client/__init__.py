"""Python client of the auth-collections service: accounts, files, documents and live queries, sync and async."""

from auth_collections_client._async.client import AsyncClient
from auth_collections_client._async.collection import AsyncCollection
from auth_collections_client._async.live import AsyncLive
from auth_collections_client._async.verifier import AsyncTokenVerifier
from auth_collections_client._sync.client import Client
from auth_collections_client._sync.collection import Collection
from auth_collections_client._sync.live import Live
from auth_collections_client._sync.verifier import TokenVerifier
from auth_collections_client.calls import VERSION
from auth_collections_client.errors import (
    ConfigurationError,
    ConflictError,
    CredentialError,
    ForbiddenError,
    NotFoundError,
    RateLimitError,
    RequestError,
    ServiceError,
    TokenError,
    TransportError,
    UnavailableError,
    ValidationError,
)
from auth_collections_client.results import (
    Change,
    Document,
    EnrolmentNeeded,
    FactorNeeded,
    MailSent,
    Page,
    SignedIn,
    Snapshot,
    UserRecord,
    UsersPage,
)
from auth_collections_client.sessions import RedirectUrl, Session, Store, memory
from auth_collections_client.values import (
    CollectionRef,
    File,
    FileUrl,
    Id,
    Related,
    Scalar,
    Time,
    TimeInput,
    Upload,
    UserKeys,
    UserWhere,
    raw,
    variant,
)

__version__ = VERSION

__all__ = [
    "AsyncClient",
    "AsyncCollection",
    "AsyncLive",
    "AsyncTokenVerifier",
    "Change",
    "Client",
    "Collection",
    "CollectionRef",
    "ConfigurationError",
    "ConflictError",
    "CredentialError",
    "Document",
    "EnrolmentNeeded",
    "FactorNeeded",
    "File",
    "FileUrl",
    "ForbiddenError",
    "Id",
    "Live",
    "MailSent",
    "NotFoundError",
    "Page",
    "RateLimitError",
    "RedirectUrl",
    "Related",
    "RequestError",
    "Scalar",
    "ServiceError",
    "Session",
    "SignedIn",
    "Snapshot",
    "Store",
    "Time",
    "TimeInput",
    "TokenError",
    "TokenVerifier",
    "TransportError",
    "UnavailableError",
    "Upload",
    "UserKeys",
    "UserRecord",
    "UserWhere",
    "UsersPage",
    "ValidationError",
    "__version__",
    "memory",
    "raw",
    "variant",
]
