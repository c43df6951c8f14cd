"""Tokens of signed-in users."""

from service.domain.access.control import AccessControl
from service.domain.events import Journal
from service.domain.projects import Foundation
from service.domain.sessions.access_tokens import Tokens
from service.domain.sessions.exchange_codes import ExchangeCodes
from service.domain.sessions.pending import PendingSignIns
from service.domain.sessions.refresh_tokens import PURPOSE, RefreshTokens
from service.domain.sessions.sessions import Sessions
from service.domain.sessions.sightings import Sightings
from service.storage.flows import FlowStore
from service.storage.sign_in_codes import SignInCodes


def build_sessions(base: Foundation, access: AccessControl, journal: Journal) -> Sessions:
    """Access tokens name the service's own URL as their issuer."""
    sightings = Sightings()
    return Sessions(
        projects=base.projects,
        access=access,
        journal=journal,
        tokens=Tokens(base.base_url, base.projects, sightings),
        refresh_tokens=RefreshTokens(base.secret_box.derive_key(PURPOSE)),
        exchange_codes=ExchangeCodes(SignInCodes(base.databases)),
        pending=PendingSignIns(FlowStore(base.databases)),
        sightings=sightings,
    )
