"""A small real OpenID provider on loopback, with an account for every case, for the tests and for `scripts/idp`."""

from faults.provider.accounts import ACCOUNTS, Account
from faults.provider.server import running_provider
from faults.provider.state import CLIENT_ID, CLIENT_SECRET, Provider

__all__ = ["ACCOUNTS", "CLIENT_ID", "CLIENT_SECRET", "Account", "Provider", "running_provider"]
