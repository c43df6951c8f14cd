"""`svc-code` in place of a token in the URL."""

from typing import Any

from pymongo import MongoClient

from faults.once import CHALLENGE
from tests.web.sign_in.codes import code_of, exchange, land
from tests.web.sign_in.conftest import APP, LOCAL, PAGE
from tests.web.sign_in.providers import Providers, query_of


async def test_the_browser_goes_to_a_page_of_the_projects(staff: Providers) -> None:
    for page in (PAGE, APP, LOCAL, "http://127.0.0.1:49152/in"):
        assert (await land(staff, redirect_to=page)).startswith(f"{page}?svc-code=")
    url = await staff.begin("staff", code_challenge=CHALLENGE, redirect_to=PAGE, client_state="x")
    declined = await staff.follow(staff.provider.decline(url))
    assert declined.headers["location"] == f"{PAGE}?svc-error=authentication_failed&state=x"
    # Without another page, it is the first of them.
    await staff.services.base.admin.change(staff.api.project.id, {"IDP_COMPLETE_URL": ""})
    staff.services.base.projects.forget_all()
    assert (await land(staff)).startswith(f"{PAGE}?svc-code=")


async def test_pages_of_others_and_bad_challenges_are_refused(staff: Providers) -> None:
    rows: tuple[tuple[dict[str, str], str, str], ...] = (
        ({"redirect_to": PAGE}, "code_challenge", "missing"),
        *(
            ({"code_challenge": CHALLENGE, "redirect_to": page}, "redirect_to", "value_error")
            for page in (
                f"{PAGE}/",
                "https://evil.example",
                f"{PAGE}?x=1",
                "http://127.0.0.1/out",
                "https://127.0.0.1/in",
            )
        ),
        *(({"code_challenge": text}, "code_challenge", "value_error") for text in ("x", "x" * 44, "é" * 43, "+" * 43)),
    )
    for parameters, name, type_ in rows:
        answer = await staff.login_idp("staff", **parameters)
        assert answer.status_code == 422, parameters
        (fault,) = answer.json()["detail"]
        assert (fault["loc"], fault["type"]) == (["query", name], type_)
    body = {"code": "x", "code_verifier": "x", "more": 1}
    answer = await staff.api.request("POST", "/auth-collections/token", json=body)
    assert answer.json()["detail"][0]["loc"] == ["body", "more"]


async def test_a_code_is_of_no_use_elsewhere_later_or_after_all_sessions_ended(
    staff: Providers, mongo: MongoClient[Any], database_prefix: str, make_api: Any
) -> None:
    other = await make_api()
    code = await code_of(staff)
    assert (await exchange(staff, code, headers={"x-api-key": other.key})).status_code == 400
    assert (await exchange(staff, code)).status_code == 200
    late = await code_of(staff)
    states = mongo[f"{database_prefix}system"]["sign_in_states"]
    (stored,) = states.find({"project_id": staff.api.project.id})
    assert late not in str(stored)
    states.update_one({}, [{"$set": {"expires_at": {"$subtract": ["$expires_at", 60_001]}}}])
    assert (await exchange(staff, late)).status_code == 400
    before = await code_of(staff)
    staff.api.database["users"].update_one({}, {"$inc": {"token_version": 1}})
    assert (await exchange(staff, before)).status_code == 400
    code = await code_of(staff)
    staff.api.database["users"].update_one({}, {"$set": {"disabled": True}})
    disabled = await exchange(staff, code)
    assert (disabled.status_code, disabled.json()["code"]) == (403, "account_disabled")
    assert query_of(await land(staff))["svc-error"] == "authentication_failed"
