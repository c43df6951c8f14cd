"""Adding a second factor on the way to the first session."""

from tests.conftest import Api
from tests.web.factors.apps import TOTP, App, guest

# Settings of a project.
MUST: dict[str, str] = {"MFA": "required"}


async def wait(api: Api) -> str:
    """The flow of a login without a factor."""
    answer = await api.login()
    assert (answer.status_code, answer.json()["code"]) == (403, "mfa_enrolment_required")
    return str(answer.json()["flow_id"])


async def begin_app(api: Api, flow_id: str) -> tuple[str, App]:
    answer = await guest(api, TOTP, flow_id=flow_id, name="phone")
    assert answer.status_code == 201, answer.text
    return f"{TOTP}/{answer.json()['id']}/confirm", App(answer.json()["secret"])
