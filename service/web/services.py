"""What handlers may call, put together by app.py."""

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network

from starlette.requests import Request

from service.domain.accounts import Accounts
from service.domain.collections import Collections
from service.domain.documents import Documents
from service.domain.limits import Limits
from service.domain.projects import Projects
from service.domain.schema_changes import SchemaChanges
from service.domain.sign_in import SignIn
from service.domain.submissions import Files
from service.domain.tokens import Tokens
from service.storage.databases import Databases


@dataclass(frozen=True, slots=True)
class Services:
    """One of each for a worker."""

    databases: Databases
    projects: Projects
    tokens: Tokens
    accounts: Accounts
    sign_in: SignIn
    collections: Collections
    schema_changes: SchemaChanges
    documents: Documents
    files: Files
    limits: Limits
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...]
    metrics_token: str | None


def services(request: Request) -> Services:
    found: Services = request.scope["app"].services
    return found
