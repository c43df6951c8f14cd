"""CAPTCHAs over HTTP: a challenge for a page, whose solution is the token that the page sends (`web/auth/captcha`)."""

from typing import Annotated, Any, cast

from pydantic import Field
from starlette.requests import Request
from typing_extensions import TypedDict

from service.domain.access.caller import AnonymousCaller, PublishableKeyCaller, SecretKeyCaller
from service.domain.captcha.altcha import ALGORITHM, COST, PREFIX
from service.domain.limits.policies import CODES
from service.domain.projects.settings import CAPTCHA_FLOWS
from service.errors import CaptchaOff, Invalid
from service.services import Services
from service.web.auth.authenticate import MAX_PROJECT_ID, Credential
from service.web.http.render import Json
from service.web.openapi.declaration import Parameter, Success, Tag
from service.web.openapi.endpoint import endpoint
from service.web.sign_in.bodies import OF_PROJECT
from service.web.sign_in.endpoints import read_parameters

LONGEST_FLOW = 20
FLOW = Parameter(
    name="flow",
    location="query",
    description="The request that the page will send: one of the project's CAPTCHA_ON",
    schema={"type": "string", "enum": [*CAPTCHA_FLOWS]},
    required=True,
)
EXAMPLE_CHALLENGE = {
    "parameters": {
        "algorithm": ALGORITHM,
        "cost": COST,
        "data": {"flow": "signup", "project": "shop"},
        "expiresAt": 1_795_430_000,
        "keyLength": 32,
        "keyPrefix": PREFIX,
        "nonce": "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
        "salt": "00112233445566778899aabbccddeeff",
    },
    "signature": "6d0f7b1f3a4c5e6d7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6",
}


class ChallengeView(TypedDict):
    parameters: Annotated[dict[str, Any], Field(description="As the ALTCHA widget (v3) takes them")]
    signature: str


@endpoint(
    "GET /auth-collections/captcha",
    credential=Credential.OPTIONAL_API_KEY,
    policy=CODES,
    tag=Tag.SIGN_IN,
    description="Where the project's CAPTCHA is `altcha`. A challenge lives five minutes and is good once.",
    parameters=(OF_PROJECT, FLOW),
    answer=Success("A challenge", {"one": EXAMPLE_CHALLENGE}, {"Cache-Control": "`no-store`"}),
    errors=(CaptchaOff,),
)
async def read_challenge(
    request: Request, caller: SecretKeyCaller | PublishableKeyCaller | AnonymousCaller, services: Services
) -> Json[ChallengeView]:
    """Get a challenge, whose solution is the token of a CAPTCHA."""
    flow = read_parameters(request, {"project_id": MAX_PROJECT_ID, "flow": LONGEST_FLOW}).get("flow")
    if flow is None:
        raise Invalid.one(("query", "flow"), "Field required", type_="missing")
    view = services.accounts.captcha.challenge(caller.project, flow)
    return Json(cast(ChallengeView, view), {"cache-control": "no-store"})
