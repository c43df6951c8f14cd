"""The token of a CAPTCHA that a page sends with a request: a proof beside the credential."""

from typing import Annotated

from pydantic import Field
from starlette.requests import Request

from service.domain.access.caller import Caller, PublishableKeyCaller, UserCaller
from service.services import Services
from service.web.auth.headers import headers_of

HEADER = b"x-captcha-token"
CaptchaToken = Annotated[
    str, Field(description="The token of the project's CAPTCHA, where X-Captcha-Token does not have it")
]


async def require_captcha(
    request: Request, caller: Caller, services: Services, flow: str, sent: str | None = None
) -> None:
    """Judges the token in `X-Captcha-Token`, or `sent` in the body, before any look-up, hash or mail.

    Servers and operators need none. Raises CaptchaFailed.
    """
    if isinstance(caller, PublishableKeyCaller | UserCaller):
        headers = headers_of(request, HEADER)
        await services.accounts.captcha.check(caller.project, flow, headers[0] if len(headers) == 1 else sent or "")
