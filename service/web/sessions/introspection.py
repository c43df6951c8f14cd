"""User tokens for other servers: introspection (RFC 7662) and the metadata of a project's issuer (RFC 8414)."""

from functools import partial
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from typing_extensions import TypedDict

from service.bounds import MAX_FORM_BYTES
from service.domain.access.caller import AnonymousCaller, SecretKeyCaller
from service.domain.limits.policies import DAILY
from service.domain.sessions.access_tokens import ALGORITHM, REPEATED, introspect, project_issuer
from service.errors import Invalid, IssuerOff
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.http.forms import URLENCODED, read_media_type, read_urlencoded
from service.web.http.json_body import read_object, validated
from service.web.http.render import Json
from service.web.openapi.declaration import TEXT, Content, Success, Tag
from service.web.openapi.endpoint import KeyUse, endpoint
from service.web.openapi.shapes import EXAMPLE_ID, Id

OPENID, OAUTH = "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"
ISSUER = "/auth-collections/issuer/{project_id}"
EXAMPLE_ISSUER = "https://auth.example.com/auth-collections/issuer/shop"
EXAMPLE_TOKEN = "eyJhbGciOiJFUzI1NiIsImtpZCI6InNob3AuMWEyYiJ9.eyJzdWIiOiI2NmYwIn0.c2ln"  # noqa: S105 - it is forged
EXAMPLE_ACTIVE = {
    "active": True,
    "iss": EXAMPLE_ISSUER,
    "sub": EXAMPLE_ID,
    "aud": "shop",
    "exp": 1_795_430_000,
    "iat": 1_795_429_100,
    "jti": "k3BvUo0Wc5Zq2Vh8mRt1xw",
    "sid": EXAMPLE_ID,
    "aal": 1,
    "amr": ["pwd"],
    "auth_time": 1_795_429_100,
    "token_type": "Bearer",
    "username": "ann@example.com",
    "roles": ["editor"],
    "anonymous": False,
    "claims": {},
}
# The same for each project.
COMMON_METADATA = {
    "introspection_endpoint_auth_methods_supported": ["client_secret_basic"],
    "response_types_supported": ["none"],
    "subject_types_supported": ["public"],
    "id_token_signing_alg_values_supported": [ALGORITHM],
    "claims_supported": ["iss", "sub", "aud", "exp", "iat", "jti", "sid", "aal", "amr", "auth_time", "claims"],
}


def describe_issuer(base_url: str, issuer: str, project_id: str) -> dict[str, Any]:
    """The metadata of a project as an issuer."""
    return {
        "issuer": issuer,
        "jwks_uri": f"{base_url}/auth-collections/jwks/{project_id}",
        "introspection_endpoint": f"{base_url}/auth-collections/introspect",
        **COMMON_METADATA,
    }


EXAMPLE_METADATA = describe_issuer("https://auth.example.com", EXAMPLE_ISSUER, "shop")


class IntrospectionForm(BaseModel):
    """A token. `token_type_hint` is allowed by RFC 7662 and changes nothing."""

    model_config = ConfigDict(strict=True, extra="forbid")

    token: str
    token_type_hint: str | None = None


class InactiveToken(TypedDict):
    active: Literal[False]


class ActiveToken(TypedDict, total=False):
    active: Annotated[Literal[True], Field(description="The token's user can be read with it now")]
    iss: str
    sub: Id
    aud: Annotated[str, Field(description="The project's id")]
    exp: int
    iat: int
    jti: str
    sid: Annotated[str, Field(description="The session")]
    aal: int
    amr: list[str]
    auth_time: int
    act: Annotated[dict[str, Any], Field(description="The operator that acts as the user (RFC 8693 section 4.1)")]
    token_type: Literal["Bearer"]
    username: Annotated[str | None, Field(description="The user's e-mail address; null for an anonymous user")]
    roles: list[str]
    anonymous: bool
    claims: dict[str, Any]


class IssuerMetadata(TypedDict):
    issuer: str
    jwks_uri: str
    introspection_endpoint: str
    introspection_endpoint_auth_methods_supported: list[str]
    response_types_supported: list[str]
    subject_types_supported: list[str]
    id_token_signing_alg_values_supported: list[str]
    claims_supported: list[str]


@endpoint(
    "POST /auth-collections/introspect",
    credential=Credential.INTROSPECTOR,
    policy=DAILY,
    tag=Tag.SESSIONS,
    operation_id="introspectToken",
    description="RFC 7662. The credential is the secret key, or HTTP Basic with the project's id and the secret key. A token "
    "is active if `GET /auth-collections/user` answers 200 to it.",
    body=(
        Content(type=IntrospectionForm, examples={"a token": {"token": EXAMPLE_TOKEN}}),
        Content(
            schema={"type": "object", "properties": {"token": TEXT, "token_type_hint": TEXT}, "required": ["token"]},
            media_type=URLENCODED,
        ),
    ),
    max_body=MAX_FORM_BYTES,
    idempotency_key=KeyUse.IGNORED,
    answer=Success(
        "What the token says, or that it is good for nothing", {"active": EXAMPLE_ACTIVE, "dead": {"active": False}}
    ),
)
async def introspect_token(
    request: Request, caller: SecretKeyCaller, services: Services
) -> Json[ActiveToken | InactiveToken]:
    """Ask whether a user token is in force."""
    found = await introspect(services.sessions.tokens, caller.project, await _read_token(request))
    if found is None:
        return Json({"active": False})
    claims, user = found
    repeated = {name: claims[name] for name in REPEATED if name in claims}
    view = {
        "active": True,
        **repeated,
        "token_type": "Bearer",
        "username": user.email,
        "roles": list(user.roles),
        "anonymous": user.is_anonymous,
        "claims": claims.get("claims", {}),
    }
    return Json(cast(ActiveToken, view))


async def _read_token(request: Request) -> str:
    """The token of a form or of JSON. Raises UnsupportedMedia, TooLarge, Invalid."""
    if read_media_type(request) != URLENCODED:
        return validated(IntrospectionForm, await read_object(request)).token
    form = await read_urlencoded(request)
    if "token" not in form:
        raise Invalid.one(("body", "token"), "Field required", type_="missing")
    return form["token"]


metadata = partial(
    endpoint,
    credential=Credential.PROJECT_IN_PATH,
    tag=Tag.SESSIONS,
    description="Where the project's `TOKEN_ISSUER` is `project`. A library needs no more than the issuer to verify the "
    "project's user tokens. The service is no OpenID provider: there is no authorization endpoint.",
    answer=Success("The metadata", {"one": EXAMPLE_METADATA}, {"Cache-Control": "How long the answer may be kept"}),
    errors=(IssuerOff,),
)


@metadata(f"GET {ISSUER}{OPENID}")
@metadata(f"GET {OPENID}{ISSUER}", operation_id="readIssuerByOpenId")
@metadata(f"GET {OAUTH}{ISSUER}", operation_id="readIssuerByOAuth")
async def read_issuer(request: Request, caller: AnonymousCaller, services: Services) -> Json[IssuerMetadata]:
    """Get the metadata of the project as an issuer of tokens."""
    if not caller.project.settings.has_own_issuer:
        raise IssuerOff
    base_url = services.sessions.tokens.base_url
    view = describe_issuer(base_url, project_issuer(base_url, caller.project), caller.project.id)
    return Json(
        cast(IssuerMetadata, view), {"cache-control": "public, max-age=300", "access-control-allow-origin": "*"}
    )
