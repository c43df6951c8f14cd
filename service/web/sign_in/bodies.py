"""What the endpoints of sign-in through a provider read and answer, beside redirects."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

EXAMPLE_SVC_CODE = "Zt0rXk8Jq4vW1nBs6yPe3cLm9uHa2fGd5oKi7xTz-Qw"
# That of RFC 7636, appendix B.
EXAMPLE_VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
MAX_CODE = 64
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
