"""How a sign-in ends: the one redirect to the project's page, with a token or an error code and nothing else. Pure."""

from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

TOKEN_PARAMETER = "svc-super-token"  # noqa: S105 - the name of a parameter
ERROR_PARAMETER = "svc-error"
STATE_PARAMETER = "state"
# What a configured URL may contain as it is; everything else is percent-encoded, for a header holds ASCII only.
URL_CHARACTERS = ":/%#?=@[]!$&'()*+,;~"


@dataclass(frozen=True, slots=True)
class SignInResult:
    """A token, or a code of specification section 7.2; and the `client_state` that the project's page sent, if any."""

    token: str | None = field(default=None, repr=False)
    error: str | None = None
    client_state: str | None = None


def completion_url(page: str, outcome: SignInResult) -> str:
    """`page` with its own query kept and the outcome added: "https://a.example/done?x=1&svc-error=database_error"."""
    ours = {
        TOKEN_PARAMETER: outcome.token,
        ERROR_PARAMETER: outcome.error,
        STATE_PARAMETER: outcome.client_state,
    }
    query = urlencode({name: value for name, value in ours.items() if value is not None})
    return f"{quote(page, safe=URL_CHARACTERS)}{'&' if '?' in page else '?'}{query}"
