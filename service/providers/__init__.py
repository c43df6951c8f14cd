"""The identity provider: discovery, the authorize URL, the code exchange, the profile. Knows no user and no project."""

from service.providers.gateway import AuthorizationResponse, Gateway
from service.providers.grant import FlowSecrets, ProviderProfile
from service.providers.registration import Endpoints, Registration, is_allowed_url

__all__ = [
    "AuthorizationResponse",
    "Endpoints",
    "FlowSecrets",
    "Gateway",
    "ProviderProfile",
    "Registration",
    "is_allowed_url",
]
