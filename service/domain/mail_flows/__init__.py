"""Codes and links that are mailed to users: they are opened, sent, judged and spent."""

from service.domain.limits.limiter import Limits
from service.domain.mail_flows.flows import Flows
from service.domain.mail_flows.outbox import Outbox
from service.domain.mail_flows.outgoing import read_routes
from service.domain.projects import Foundation
from service.storage.flows import FlowStore

# HKDF purpose of the key for the HMACs of codes and accounts.
PURPOSE = "flows"


def build_flows(base: Foundation, limits: Limits, *, smtp_url: str | None, mail_from: str | None) -> Flows:
    """Raises ConfigurationError for a URL or a sender that is none."""
    store = FlowStore(base.databases)
    outbox = Outbox(store, base.projects, base.secret_box, read_routes(smtp_url, mail_from, base.base_url))
    key = base.secret_box.derive_key(PURPOSE)
    return Flows(base.projects, store, base.secret_box, limits, outbox, key, base.base_url)
