"""Trials of what a project is configured with: its mail server, and its identity providers."""

from service.domain.limits.limiter import Limits
from service.domain.mail_flows.flows import Flows
from service.domain.sign_in.flow import SignIn
from service.domain.trials.trials import Trials
from service.outbound.fetching import Outbound


def build_trials(sign_in: SignIn, flows: Flows, limits: Limits, outbound: Outbound) -> Trials:
    return Trials(sign_in.clients, flows.outbox.routes, limits, outbound)
