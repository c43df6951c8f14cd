"""The identity provider: discovery, the authorize URL, the code exchange, the profile. Knows no user and no project."""

from service.providers.authorization import Proofs
from service.providers.gateway import Answer, Gateway
from service.providers.profile import Profile
from service.providers.registration import Endpoints, Registration, is_allowed_url

__all__ = ["Answer", "Endpoints", "Gateway", "Profile", "Proofs", "Registration", "is_allowed_url"]
