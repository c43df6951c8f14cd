"""Bodies and answers of the endpoints of sign-in through a provider, beside redirects."""

import re
from typing import Annotated, NotRequired

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from service.web.openapi.declaration import Parameter
from service.web.openapi.shapes import EXAMPLE_ID, EXAMPLE_TIME, PATH_PARAMETERS, Id, Time

EXAMPLE_SVC_CODE = "Zt0rXk8Jq4vW1nBs6yPe3cLm9uHa2fGd5oKi7xTz-Qw"
# Those of RFC 7636, appendix B.
EXAMPLE_VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
EXAMPLE_CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
EXAMPLE_URL = "https://provider.example/authorize?response_type=code&client_id=app&state=Yk3v"
EXAMPLE_IDENTITY = {
    "id": EXAMPLE_ID,
    "provider": "google",
    "email": "ann@gmail.com",
    "created_at": EXAMPLE_TIME,
    "last_used_at": None,
}
MAX_CODE = 64
MAX_CLIENT_STATE = 512
MAX_REDIRECT_TO = 2048
MAX_PROVIDER = 32
MAX_ID_TOKEN = 16_384
MAX_NAME = 256
# RFC 7636 section 4.1.
MAX_VERIFIER = 128

# A SHA-256 in base64url (RFC 7636 section 4.2).
CHALLENGE_LENGTH = 43
CHALLENGE = re.compile(rf"[A-Za-z0-9_-]{{{CHALLENGE_LENGTH}}}")

OF_PROJECT = Parameter(
    name="project_id",
    description="The project, where no API key is sent.",
    schema=PATH_PARAMETERS["project_id"]["schema"],
)
LOGIN_PARAMETERS = (
    OF_PROJECT,
    Parameter(
        name="client_state",
        description="Comes back to the project's page with the token or the error code.",
        schema={"type": "string", "minLength": 1, "maxLength": MAX_CLIENT_STATE},
        example="/basket",
    ),
    Parameter(
        name="provider",
        description="One of the project's providers; without it that of the IDP settings.",
        schema={"type": "string", "minLength": 1, "maxLength": MAX_PROVIDER},
        example="google",
    ),
    Parameter(
        name="code_challenge",
        description="The SHA-256, in base64url, of a verifier that the page keeps (RFC 7636). The page is given `svc-code` "
        "then, and no token.",
        schema={"type": "string", "pattern": f"^{CHALLENGE.pattern}$"},
        example=EXAMPLE_CHALLENGE,
    ),
    Parameter(
        name="redirect_to",
        description="One of the project's REDIRECT_URLS, in place of its IDP_COMPLETE_URL; with a `code_challenge` only.",
        schema={"type": "string", "minLength": 1, "maxLength": MAX_REDIRECT_TO},
    ),
)
Verifier = Annotated[
    str, Field(max_length=MAX_VERIFIER, description="What the challenge was made of", examples=[EXAMPLE_VERIFIER])
]
SvcCode = Annotated[
    str, Field(max_length=MAX_CODE, description="The `svc-code` of the redirect", examples=[EXAMPLE_SVC_CODE])
]


class TokenForm(BaseModel):
    """A code, and the verifier whose challenge the sign-in began with."""

    model_config = ConfigDict(strict=True, extra="forbid")

    code: SvcCode
    code_verifier: Verifier | None = None


class ProviderForm(BaseModel):
    """Which of the project's providers gives the ID token."""

    model_config = ConfigDict(strict=True, extra="forbid")

    provider: Annotated[str, Field(min_length=1, max_length=MAX_PROVIDER, examples=["apple"])]


class IdTokenForm(BaseModel):
    """What the provider gave the app."""

    model_config = ConfigDict(strict=True, extra="forbid")

    flow_id: Annotated[str, Field(min_length=1, max_length=MAX_CODE, examples=[EXAMPLE_SVC_CODE])]
    id_token: Annotated[str, Field(min_length=1, max_length=MAX_ID_TOKEN, description="As the provider gave it")]
    name: Annotated[
        str | None, Field(max_length=MAX_NAME, description="The person's, where the token does not say it")
    ] = None


class NativeStartView(TypedDict):
    flow_id: str
    nonce: Annotated[
        str, Field(description="For the provider to put into the ID token, as it is or as its SHA-256 in hex")
    ]


class IdentityLinkForm(BaseModel):
    """At which provider, and the challenge whose verifier the page keeps. `client_state` comes back to the page."""

    model_config = ConfigDict(strict=True, extra="forbid")

    provider: Annotated[str, Field(min_length=1, max_length=MAX_PROVIDER, examples=["google"])]
    code_challenge: Annotated[
        str, Field(pattern="^[A-Za-z0-9_-]{43}$", examples=[EXAMPLE_CHALLENGE], description="By S256 (RFC 7636)")
    ]
    redirect_to: Annotated[
        str | None, Field(min_length=1, max_length=MAX_REDIRECT_TO, description="One of the project's REDIRECT_URLS")
    ] = None
    client_state: Annotated[str | None, Field(min_length=1, max_length=MAX_CLIENT_STATE)] = None


class LinkProofForm(BaseModel):
    """What the browser brought back, and what the challenge was made of."""

    model_config = ConfigDict(strict=True, extra="forbid")

    code: SvcCode
    code_verifier: Verifier


class AuthorizationUrl(TypedDict):
    """Where to send the browser."""

    url: Annotated[str, Field(json_schema_extra={"format": "uri"})]


class IdentityView(TypedDict):
    """`email` is the person's address there. Of an identity that was not used for long, less is known."""

    id: Id
    provider: str | None
    email: str | None
    created_at: Time | None
    last_used_at: Time | None


class IdentityList(TypedDict):
    identities: list[IdentityView]


class ProviderView(TypedDict):
    id: Annotated[str, Field(description="For `provider` of `/auth-collections/login-idp`")]
    name: Annotated[str, Field(description="What people call it")]


class CaptchaView(TypedDict):
    kind: str
    site_key: str | None
    on: Annotated[list[str], Field(description="The requests that need one")]


class SignInMethodsView(TypedDict):
    password: bool
    email: Annotated[bool, Field(description="By a code or a link of a mail")]
    passkey: bool
    providers: list[ProviderView]
    usernames: Annotated[bool, Field(description="A login by the name of the user")]
    anonymous: Annotated[bool, Field(description="As a user without an address")]
    captcha: NotRequired[Annotated[CaptchaView, Field(description="Where the project asks for one")]]
