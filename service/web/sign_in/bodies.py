"""What the endpoints of sign-in through a provider read and answer, beside redirects."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from service.web.openapi.shapes import Id, Time

EXAMPLE_SVC_CODE = "Zt0rXk8Jq4vW1nBs6yPe3cLm9uHa2fGd5oKi7xTz-Qw"
# Those of RFC 7636, appendix B.
EXAMPLE_VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
EXAMPLE_CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
MAX_CODE = 64
MAX_CLIENT_STATE = 512
MAX_REDIRECT_TO = 2048
MAX_PROVIDER = 32
MAX_ID_TOKEN = 16_384
MAX_NAME = 256
# RFC 7636 section 4.1.
MAX_VERIFIER = 128

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


class SignInMethodsView(TypedDict):
    password: bool
    email: Annotated[bool, Field(description="By a code or a link of a mail")]
    passkey: bool
    providers: list[ProviderView]
