"""`svc-code` in place of a token in the URL. Row P7."""

from typing import Any

import httpx2
import pytest
from pymongo import MongoClient

from faults.once import CHALLENGE, VERIFIER, make_codes, race
from service.app import Application
from tests.web.sign_in.providers import Providers, query_of
from tests.web.sign_in.site import COMPLETE

PAGE, APP, LOCAL = "https://app.example.com/in", "com.example.app:/in", "http://127.0.0.1/in"
URLS = f"{PAGE},{APP},{LOCAL}"


async def code_of(providers: Providers, account: str = "ada", **parameters: str) -> str:
    """The code that a sign-in brings."""
    location = await land(providers, account, **parameters)
    assert "svc-error" not in location
    return query_of(location)["svc-code"]


async def land(providers: Providers, account: str = "ada", **parameters: str) -> str:
    """Where the browser is in the end."""
    url = await providers.begin("staff", code_challenge=CHALLENGE, **parameters)
    answer = await providers.follow(await providers.answer(url, account))
    assert (answer.status_code, answer.content) == (302, b"")
    assert "svc-super-token" not in answer.headers["location"]
    return str(answer.headers["location"])


async def exchange(providers: Providers, code: str, verifier: str | None = VERIFIER, **more: Any) -> httpx2.Response:
    body = {"code": code, "code_verifier": verifier}
    headers = {"x-api-key": providers.api.publishable_key}
    path = "/auth-collections/token"
    return await providers.api.http.post(
        path, json={name: value for name, value in body.items() if value is not None}, **{"headers": headers, **more}
    )


@pytest.fixture
async def staff(providers: Providers) -> Providers:
    """A project with one provider, and pages of its own."""
    await providers.openid("staff")
    changes = {"REDIRECT_URLS": URLS, "ACCESS_TOKEN_LIFETIME": "900"}
    await providers.services.admin.change(providers.api.project.id, changes)
    providers.services.projects.forget_all()
    return providers


async def test_p7_a_code_gives_a_token_once_and_only_with_its_verifier(staff: Providers) -> None:
    code = await code_of(staff, client_state="/basket")
    answer = await exchange(staff, code)
    assert answer.status_code == 200
    assert answer.json().keys() == {"access_token", "token_type", "user", "expires_in", "refresh_token"}
    (user,) = staff.users()
    assert answer.json()["user"]["id"] == user["_id"]
    assert (await staff.api.as_user(answer.json()["access_token"], "GET", "/auth-collections/user")).status_code == 200
    (session,) = staff.api.database["sessions"].find()
    assert session["amr"] == ["idp"]
    refused = [await exchange(staff, code)]
    for wrong in ("x" * 43, VERIFIER[:-1], "", None):
        code = await code_of(staff)
        refused.append(await exchange(staff, code, wrong))
        refused.append(await exchange(staff, code))
    refused.append(await exchange(staff, "made-up"))
    assert {(each.status_code, each.text) for each in refused} == {
        (400, '{"detail":"Invalid or expired code","code":"invalid_code"}')
    }
    assert staff.api.database["sessions"].count_documents({}) == 1


async def test_p7_no_token_is_in_any_url_and_a_code_is_no_state(staff: Providers) -> None:
    location = await land(staff, client_state="/basket")
    assert location.startswith(COMPLETE)
    assert query_of(location).keys() == {"keep", "svc-code", "state"}
    code = query_of(location)["svc-code"]
    path = f"/auth-collections/auth-idp-redirect/{staff.api.project.id}/staff"
    spent = await staff.api.http.get(path, params={"state": code, "code": "x"})
    assert query_of(spent.headers["location"]) == {"keep": "1", "svc-error": "authentication_failed"}
    assert (await exchange(staff, code)).status_code == 200


async def test_the_browser_goes_to_a_page_of_the_projects(staff: Providers) -> None:
    for page in (PAGE, APP, LOCAL, "http://127.0.0.1:49152/in"):
        assert (await land(staff, redirect_to=page)).startswith(f"{page}?svc-code=")
    url = await staff.begin("staff", code_challenge=CHALLENGE, redirect_to=PAGE, client_state="x")
    declined = await staff.follow(staff.provider.decline(url))
    assert declined.headers["location"] == f"{PAGE}?svc-error=authentication_failed&state=x"
    # Where there is no other page, it is the first of them.
    await staff.services.admin.change(staff.api.project.id, {"IDP_COMPLETE_URL": ""})
    staff.services.projects.forget_all()
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


async def test_p7_of_many_who_send_a_code_at_once_one_is_given_a_token(
    running_app: Application, staff: Providers
) -> None:
    make = await make_codes(running_app, staff.api.key)
    report = await race([staff.api.http], staff.api.key, make, races=40, at_once=5)
    assert (report.twice, report.lost) == (0, 0)
