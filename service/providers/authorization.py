"""The two messages of the authorization code grant, written with Authlib: the authorize URL and the token request."""

from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from service.providers.registration import CLIENT_AUTH_METHODS, CLIENT_SECRET_POST, Endpoints, Registration


@dataclass(frozen=True, slots=True)
class FlowSecrets:
    """What binds an answer to its request; each random, used once, of at least 128 bits (RFC 9700 section 2.1)."""

    state: str = field(repr=False)
    nonce: str = field(repr=False)
    code_verifier: str = field(repr=False)


def authorize_url(registration: Registration, endpoints: Endpoints, *, proofs: FlowSecrets) -> str:
    """Where the browser goes to sign in (RFC 6749 section 4.1.1, RFC 7636 section 4.3).

    `nonce` is sent to OpenID providers only (OpenID Connect Core 1.0 section 3.1.2.1).
    """
    return str(
        prepare_grant_uri(
            endpoints.authorize,
            registration.client_id,
            "code",
            redirect_uri=registration.redirect_url,
            scope=registration.scopes,
            state=proofs.state,
            code_challenge=create_s256_code_challenge(proofs.code_verifier),
            code_challenge_method="S256",
            nonce=proofs.nonce if endpoints.issuer else None,
        )
    )


def token_request(
    registration: Registration, endpoints: Endpoints, *, code: str, code_verifier: str
) -> tuple[str, dict[str, str]]:
    """The form and the headers that exchange `code` (RFC 6749 section 4.1.3), with the client's authentication."""
    form: dict[str, Any] = {"redirect_uri": registration.redirect_url, "code": code, "code_verifier": code_verifier}
    headers: dict[str, str] = {}
    if _method(registration, endpoints) == CLIENT_SECRET_POST:
        form |= {"client_id": registration.client_id, "client_secret": registration.client_secret}
    else:
        headers["authorization"] = _basic(registration)
    return str(prepare_token_request("authorization_code", **form)), headers


def _method(registration: Registration, endpoints: Endpoints) -> str:
    """The forced method, else the first of ours that the provider takes, else basic, which every provider must take."""
    offered = [method for method in CLIENT_AUTH_METHODS if method in endpoints.client_auth_methods]
    return registration.client_auth or next(iter(offered), CLIENT_AUTH_METHODS[0])


def _basic(registration: Registration) -> str:
    # RFC 6749 section 2.3.1 encodes both parts first, so that a colon in the id cannot move the boundary.
    pair = f"{quote_plus(registration.client_id)}:{quote_plus(registration.client_secret)}"
    return "Basic " + b64encode(pair.encode()).decode()
