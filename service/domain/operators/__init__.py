"""The people who run the deployment: their accounts, sessions, tokens and invitations. docs/operators.md."""

from service.domain.accounts.passwords import Passwords
from service.domain.limits.limiter import Limits
from service.domain.operators.operators import OperatorRules, Operators
from service.domain.projects import Foundation
from service.domain.sessions.sessions import Sessions

# HKDF purpose of the key for the HMACs of operators' addresses.
PURPOSE = "operators"


def build_operators(
    base: Foundation, limits: Limits, passwords: Passwords, sessions: Sessions, rules: OperatorRules
) -> Operators:
    key = base.secret_box.derive_key(PURPOSE)
    return Operators(base.databases, limits, passwords, sessions, base.secret_box, base.audit, rules, key=key)
