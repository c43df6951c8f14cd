"""Sign-in through an identity provider."""

from service.domain.accounts import Accounts
from service.domain.projects import Foundation
from service.domain.sign_in.flow import SignIn
from service.domain.sign_in.registration import ProviderClients, ProviderDefaults
from service.outbound.fetching import Outbound
from service.providers import Gateway
from service.storage.sign_in_states import SignInStates


def build_sign_in(base: Foundation, accounts: Accounts, outbound: Outbound, defaults: ProviderDefaults) -> SignIn:
    """`defaults` are for projects without settings of their own."""
    clients = ProviderClients(defaults, base.base_url)
    return SignIn(Gateway(outbound), SignInStates(base.databases), clients, accounts)
