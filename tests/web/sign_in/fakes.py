"""Providers as their own documentation describes them, on loopback: each with its checks and its answers.

`service/providers/presets.toml` names the pages of the preset's peculiarities as well.

- all: the code is bound to the redirect URI and to the PKCE challenge (RFC 6749 section 4.1.3, RFC 7636 section 4.6)
- google: https://developers.google.com/identity/openid-connect/openid-connect, an issuer with a discovery document;
  `hd` is there for an organization's accounts only: https://developers.google.com/identity/sign-in/web/backend-auth
- microsoft: https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc: the document of `common` has
  `{tenantid}` in its issuer, that of a tenant its id; the issuer of a token has the id that is `tid`, and `xms_edov` is
  there only where the app asks for it (…/optional-claims-reference, …/migrate-off-email-claim-authorization)
- apple: https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret: `client_secret`
  in the form, ES256, `kid`, `iss` the team, `sub` the client, `aud` Apple, at most 15,777,000 seconds; no userinfo endpoint
- github: https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps: the secret in the form, and an
  answer in JSON for who accepts that, else a form; errors come with 200 (…/maintaining-oauth-apps/
  troubleshooting-oauth-app-access-token-request-errors); the API refuses who has no User-Agent
  (https://docs.github.com/rest/using-the-rest-api/getting-started-with-the-rest-api); addresses:
  https://docs.github.com/rest/users/emails
- gitlab: https://docs.gitlab.com/integration/openid_connect_provider
- discord: https://discord.com/developers/docs/topics/oauth2: the token endpoint takes forms only, and the secret either way;
  https://discord.com/developers/docs/resources/user: `id`, `username`, `global_name`, `email` and `verified`
"""

import secrets
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, cast
from urllib.parse import parse_qsl, unquote_plus, urlencode

from joserfc import jwt
from joserfc.jwk import ECKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from faults.provider import CLIENT_ID, CLIENT_SECRET
from faults.provider.server import serving
from faults.provider.tokens import new_key, signed

TENANT, OTHER_TENANT = "9188040d-6c67-4c5b-b112-36a304b66dad", "11111111-2222-3333-4444-555555555555"
APPLE_KEY = ECKey.generate_key("P-256", {"kid": "APPLEKEY01"})
TEAM_ID, KEY_ID = "TEAM123456", "APPLEKEY01"
# Six months: the longest that Apple takes.
LONGEST_SECRET = 15_777_000
FORM_ONLY = {"apple", "github"}
FORM = "application/x-www-form-urlencoded"


@dataclass
class Fakes:
    """`claims` are of the person who signs in next; `addresses` and `document` replace what an endpoint says."""

    base: str = ""
    codes: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=dict)
    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    addresses: list[Any] = field(default_factory=list)
    document: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    key: Any = field(default_factory=lambda: new_key("fake"))

    def issuer(self, name: str) -> str:
        return f"{self.base}/microsoft/{{tenantid}}/v2.0" if name == "microsoft" else f"{self.base}/{name}"

    def grant(self, name: str, asked: dict[str, str], claims: dict[str, Any]) -> str:
        """A code for a person with these claims, in answer to this authorize URL."""
        code = secrets.token_urlsafe(16)
        self.codes[code] = (name, asked, claims)
        return code

    def id_token(self, name: str, client_id: str, nonce: str, claims: dict[str, Any]) -> str:
        moment = int(time.time())
        issuer = self.issuer(name).replace("{tenantid}", str(claims.get("tid", TENANT)))
        usual = {"iss": issuer, "aud": client_id, "nonce": nonce, "iat": moment, "exp": moment + 300}
        return signed({**usual, **claims}, self.key)


@contextmanager
def running_fakes() -> Iterator[Fakes]:
    fakes = Fakes()
    app = Starlette(
        routes=[
            Route("/microsoft/{tenant}/v2.0/.well-known/openid-configuration", discovery),
            Route("/{name}/.well-known/openid-configuration", discovery),
            Route("/{name}/keys", keys),
            Route("/{name}/token", token, methods=["POST"]),
            Route("/{name}/user", userinfo),
            Route("/github/user/emails", emails),
        ]
    )
    app.state.fakes = fakes
    with serving(app) as base:
        fakes.base = base
        yield fakes


def _fakes(request: Request) -> Fakes:
    fakes = cast(Fakes, request.app.state.fakes)
    fakes.asked.append(request.url.path)
    return fakes


async def discovery(request: Request) -> Response:
    fakes, name = _fakes(request), request.path_params.get("name", "microsoft")
    issuer, place = fakes.issuer(name), f"{fakes.base}/{name}"
    tenant = request.path_params.get("tenant", "common")
    document = {
        "issuer": issuer if tenant == "common" else issuer.replace("{tenantid}", tenant),
        "authorization_endpoint": f"{place}/authorize",
        "token_endpoint": f"{place}/token",
        "jwks_uri": f"{place}/keys",
        "userinfo_endpoint": f"{place}/user",
        "token_endpoint_auth_methods_supported": ["client_secret_post"]
        if name in FORM_ONLY
        else ["client_secret_basic"],
    }
    if name == "apple":
        del document["userinfo_endpoint"]
    return JSONResponse(document | fakes.document)


async def keys(request: Request) -> Response:
    return JSONResponse({"keys": [_fakes(request).key.as_dict(private=False)]})


async def token(request: Request) -> Response:
    fakes, name = _fakes(request), request.path_params["name"]
    if request.headers["content-type"] != FORM:
        return JSONResponse({"error": "invalid_request"}, 400)
    form = dict(parse_qsl((await request.body()).decode()))
    given, asked, claims = fakes.codes.pop(form["code"], ("", {}, {}))
    digest = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
    fits = given == name and asked["redirect_uri"] == form["redirect_uri"] and asked["code_challenge"] == digest
    if not fits or not _knows_client(name, request, form, fakes):
        # GitHub says so with 200.
        return JSONResponse({"error": "invalid_grant"}, 200 if name == "github" else 400)
    access = secrets.token_urlsafe(16)
    fakes.tokens[access] = claims
    answer = {"access_token": access, "token_type": "bearer"}
    if name not in {"github", "discord"}:
        answer["id_token"] = fakes.id_token(name, CLIENT_ID, asked["nonce"], claims)
    if name == "github" and request.headers["accept"] != "application/json":
        return Response(urlencode(answer), media_type=FORM)
    return JSONResponse(answer)


def _knows_client(name: str, request: Request, form: dict[str, str], fakes: Fakes) -> bool:
    if name == "apple":
        claims = jwt.decode(form["client_secret"], APPLE_KEY, algorithms=["ES256"])
        expected = {"iss": TEAM_ID, "sub": CLIENT_ID, "aud": fakes.issuer("apple")}
        life = claims.claims["exp"] - claims.claims["iat"]
        is_signed = claims.header["kid"] == KEY_ID and expected.items() <= claims.claims.items()
        return is_signed and form["client_id"] == CLIENT_ID and 0 < life <= 600 < LONGEST_SECRET
    if name in FORM_ONLY:
        return (form.get("client_id"), form.get("client_secret")) == (CLIENT_ID, CLIENT_SECRET)
    pair = b64decode(request.headers["authorization"].removeprefix("Basic ")).decode().partition(":")
    return [unquote_plus(part) for part in pair[::2]] == [CLIENT_ID, CLIENT_SECRET]


async def userinfo(request: Request) -> Response:
    if request.url.path.startswith("/github/") and not request.headers.get("user-agent"):
        return Response("Request forbidden by administrative rules", 403)
    claims = _fakes(request).tokens.get(request.headers.get("authorization", "").removeprefix("Bearer "))
    return JSONResponse(claims if claims is not None else {"message": "Bad credentials"}, 200 if claims else 401)


async def emails(request: Request) -> Response:
    fakes = _fakes(request)
    known = request.headers.get("authorization", "").removeprefix("Bearer ") in fakes.tokens
    return JSONResponse(fakes.addresses if known else {"message": "Bad credentials"}, 200 if known else 401)
