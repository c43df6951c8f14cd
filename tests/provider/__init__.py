"""A small real OpenID provider on loopback, with an account for every case, for the tests and for `scripts/idp`."""

from tests.provider.accounts import ACCOUNTS, Account
from tests.provider.server import running_provider
from tests.provider.state import CLIENT_ID, CLIENT_SECRET, Provider

__all__ = ["ACCOUNTS", "CLIENT_ID", "CLIENT_SECRET", "Account", "Provider", "running_provider"]
