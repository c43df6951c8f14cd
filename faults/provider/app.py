"""The HTTP of the test provider: discovery, keys, a login form, the token and the userinfo endpoint."""

import html
from base64 import b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Any, cast
from urllib.parse import parse_qsl, unquote_plus

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from faults.provider.accounts import ACCOUNTS
from faults.provider.answers import ANSWERS
from faults.provider.state import CLIENT_ID, CLIENT_SECRET, ISSUERS, Grant, Provider, with_query

COOKIE = "provider_session=1; Path=/"


def create_provider(provider: Provider) -> Starlette:
    routes = [
        Route("/{issuer}/.well-known/openid-configuration", discovery),
        Route("/{issuer}/jwks", jwks),
        Route("/{issuer}/authorize", login_form, methods=["GET"]),
        Route("/{issuer}/authorize", sign_in, methods=["POST"]),
        Route("/{issuer}/token", token, methods=["POST"]),
        Route("/{issuer}/userinfo", userinfo),
        Route("/elsewhere", elsewhere, methods=["GET", "POST"]),
    ]
    app = Starlette(routes=routes)
    app.state.provider = provider
    return app


def _counted(request: Request, endpoint: str) -> Provider:
    provider = cast(Provider, request.app.state.provider)
    provider.calls[endpoint] += 1
    if "cookie" in request.headers and endpoint != "authorize":
        provider.cookies.append(request.headers["cookie"])
    return provider


async def discovery(request: Request) -> Response:
    provider, name = _counted(request, "discovery"), request.path_params["issuer"]
    if name == "down" or name not in ISSUERS:
        return Response("Bad gateway", 502)
    if name == "hanging":
        return await ANSWERS["slow"]()
    issuer = provider.issuer(name)
    return JSONResponse({**_document(issuer), **_peculiarities(name, issuer)}, headers={"set-cookie": COOKIE})


def _document(issuer: str) -> dict[str, Any]:
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "userinfo_endpoint": f"{issuer}/userinfo",
        "jwks_uri": f"{issuer}/jwks",
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }


def _peculiarities(name: str, issuer: str) -> dict[str, Any]:
    rows: dict[str, dict[str, Any]] = {
        "named": {"authorization_response_iss_parameter_supported": True},
        "post": {"token_endpoint_auth_methods_supported": ["client_secret_post"]},
        "mislabelled": {"issuer": f"{issuer}/"},
        "outside": {"token_endpoint": "http://provider.example/token"},
        "bare": {"userinfo_endpoint": None},
    }
    return rows.get(name, {})


async def jwks(request: Request) -> Response:
    provider = _counted(request, "jwks")
    useless = [{"kty": "AKP", "kid": "pq"}, {"kty": "RSA", "kid": "broken"}, {"kty": "oct", "k": "AAAA", "kid": "x"}]
    return JSONResponse({"keys": [*useless, *provider.odd_keys, provider.key.as_dict(private=False)]})


async def login_form(request: Request) -> Response:
    _counted(request, "authorize")
    options = "".join(f"<option>{html.escape(name)}</option>" for name in ACCOUNTS)
    return HTMLResponse(
        "<!doctype html><html lang=en><title>Test provider</title><h1>Test provider</h1><form method=post>"
        f"<label>Sign in as <select name=account>{options}</select></label> "
        "<button name=deny value=''>Sign in</button> <button name=deny value=1>Deny</button></form></html>",
        headers={"set-cookie": COOKIE},
    )


async def sign_in(request: Request) -> Response:
    """Gives a code to whoever says a name: this provider has no passwords."""
    provider, form, asked = _counted(request, "authorize"), await _form(request), dict(request.query_params)
    if asked.get("client_id") != CLIENT_ID or asked.get("code_challenge_method") != "S256":
        return Response("unknown client, or no S256 code challenge", 400)
    name = request.path_params["issuer"]
    answer = {"state": asked.get("state"), "iss": provider.issuer(name) if name == "named" else None}
    if form.get("deny"):
        answer |= {"error": "access_denied", "error_description": "<script>alert(1)</script>"}
    else:
        answer["code"] = provider.grant(form["account"], name, asked)
    return RedirectResponse(with_query(asked["redirect_uri"], **answer), 302)


async def token(request: Request) -> Response:
    provider, form = _counted(request, "token"), await _form(request)
    grant = provider.codes.pop(form.get("code", ""), None)
    if not _client_is_genuine(provider, request, form) or grant is None or not _fits(grant, form):
        return JSONResponse({"error": "invalid_grant"}, 400)
    if grant.account.token in ANSWERS:
        return await ANSWERS[grant.account.token]()
    tokens = {"access_token": provider.access_token(grant.account), "token_type": "Bearer", "expires_in": 300}
    if "openid" in grant.request.get("scope", "").split():
        tokens["id_token"] = provider.id_token(grant)
    return JSONResponse(tokens, headers={"set-cookie": COOKIE})


async def _form(request: Request) -> dict[str, str]:
    return dict(parse_qsl((await request.body()).decode(), keep_blank_values=True))


def _client_is_genuine(provider: Provider, request: Request, form: dict[str, str]) -> bool:
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme == "Basic" and request.path_params["issuer"] != "post":
        provider.client_auth.append("client_secret_basic")
        pair = b64decode(text).decode().partition(":")
        return [unquote_plus(part) for part in pair[::2]] == [CLIENT_ID, CLIENT_SECRET]
    provider.client_auth.append("client_secret_post")
    return (form.get("client_id"), form.get("client_secret")) == (CLIENT_ID, CLIENT_SECRET)


def _fits(grant: Grant, form: dict[str, str]) -> bool:
    digest = urlsafe_b64encode(sha256(form.get("code_verifier", "").encode()).digest()).decode().rstrip("=")
    return digest == grant.request["code_challenge"] and form.get("redirect_uri") == grant.request["redirect_uri"]


async def userinfo(request: Request) -> Response:
    provider = _counted(request, "userinfo")
    account = provider.tokens.get(request.headers.get("authorization", "").removeprefix("Bearer "))
    if account is None:
        return JSONResponse({"error": "invalid_token"}, 401)
    if account.userinfo in ANSWERS:
        return await ANSWERS[account.userinfo]()
    return JSONResponse({**account.claims, **account.extra}, headers={"set-cookie": COOKIE})


async def elsewhere(request: Request) -> Response:
    """The target of the provider's redirects; a client that follows one is counted here."""
    _counted(request, "elsewhere")
    return JSONResponse({"access_token": "x", "sub": "sub-ada"})
