"""The values that an OpenID configuration document may have."""

from typing import Any

import pytest

from service.outbound.fetching import FetchFailed
from service.providers.openid import read_configuration

ISSUER = "https://accounts.example.com"
DOCUMENT: dict[str, Any] = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "userinfo_endpoint": f"{ISSUER}/userinfo",
    "jwks_uri": f"{ISSUER}/jwks",
}


def test_read_configuration() -> None:
    endpoints = read_configuration(DOCUMENT, ISSUER)
    assert (endpoints.authorize, endpoints.token) == (f"{ISSUER}/authorize", f"{ISSUER}/token")
    assert (endpoints.userinfo, endpoints.jwks) == (f"{ISSUER}/userinfo", f"{ISSUER}/jwks")
    assert endpoints.issuer == ISSUER
    assert endpoints.client_auth_methods == ("client_secret_basic",)
    assert not endpoints.names_itself


@pytest.mark.parametrize(
    "change",
    [
        {"issuer": f"{ISSUER}/"},
        {"issuer": None},
        {"authorization_endpoint": None},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"token_endpoint": "http://accounts.example.com/token"},
        {"token_endpoint": "http://127.0.0.1:27017/"},
        {"userinfo_endpoint": "http://169.254.169.254/"},
        {"userinfo_endpoint": 5},
        {"jwks_uri": None},
        {"jwks_uri": "file:///etc/passwd"},
    ],
    ids=str,
)
def test_read_configuration_refuses(change: dict[str, Any]) -> None:
    with pytest.raises(FetchFailed):
        read_configuration({**DOCUMENT, **change}, ISSUER)
