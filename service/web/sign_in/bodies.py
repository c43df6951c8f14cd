"""What the endpoints of sign-in through a provider read and answer, beside redirects."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

EXAMPLE_SVC_CODE = "Zt0rXk8Jq4vW1nBs6yPe3cLm9uHa2fGd5oKi7xTz-Qw"
# That of RFC 7636, appendix B.
EXAMPLE_VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
MAX_CODE = 64
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
