"""F19: users see in their profiles, and in answers to sign-ins, their roles and whether their address is proven."""

from typing import Any

from service.services import Services
from tests.conftest import Api
from tests.web.flows.mailbox import ask, newest

USER, USERS = "/auth-collections/user", "/auth-collections/users"


async def profile(api: Api, token: str) -> dict[str, Any]:
    return dict((await api.as_user(token, "GET", USER)).json())


async def test_f19_the_profile_and_a_login_show_roles_and_the_proof_of_the_address(api: Api) -> None:
    signed = (await api.signup(name="Ann")).json()
    user_id, token = signed["user"]["id"], signed["access_token"]
    assert list(signed["user"]) == ["id", "email", "data", "created_at", "email_verified"]
    assert signed["user"]["email_verified"] is False
    assert "roles" not in await profile(api, token)
    assert (await api.request("PUT", f"{USERS}/{user_id}/roles", json={"roles": ["admin"]})).status_code == 200
    assert (await api.request("PATCH", f"{USERS}/{user_id}", json={"email_verified": True})).status_code == 200
    for shown in (
        await profile(api, token),
        (await api.login()).json()["user"],
        (await api.as_user(token, "PUT", USER, json={"name": "A."})).json(),
    ):
        assert (shown["roles"], shown["email_verified"]) == (["admin"], True)
        assert not {"disabled", "claims"} & shown.keys()
    assert (await api.request("PUT", f"{USERS}/{user_id}/roles", json={"roles": []})).status_code == 200
    assert "roles" not in await profile(api, token)


async def test_f19_data_of_that_name_is_not_the_accounts(api: Api) -> None:
    token = (await api.signup(roles=["admin"], email_verified=True)).json()["access_token"]
    shown = await profile(api, token)
    assert (shown["email_verified"], "roles" in shown) == (False, False)
    assert shown["data"] == {"roles": ["admin"], "email_verified": True}


async def test_f19_the_first_proof_of_an_address_changes_the_profiles_version(api: Api, services: Services) -> None:
    token = (await api.signup()).json()["access_token"]
    known = (await api.as_user(token, "GET", USER)).headers["etag"]
    flow = await ask(api, "verify-email", email="ann@example.com")
    mail = await newest(services, api, "ann@example.com")
    proof = {"flow_id": flow.json()["flow_id"], "code": mail.code}
    done = await ask(api, "confirm", **proof, password="correct horse")
    assert done.json() == {"email_verified": True}
    answer = await api.as_user(token, "GET", USER, headers={"if-none-match": known})
    assert (answer.status_code, answer.json()["email_verified"]) == (200, True)


async def test_a_guard_on_a_user_looks_at_the_account_for_servers_only(api: Api) -> None:
    signed = (await api.signup(name="Ann")).json()
    user_id = signed["user"]["id"]
    await api.request("PUT", f"{USERS}/{user_id}/roles", json={"roles": ["admin"]})
    identity = {"issuer": "https://accounts.google.com", "subject": "1", "provider": "google"}
    fields = {"identities": [identity], "claims": {"plan": "pro"}}
    api.database["users"].update_one({"_id": user_id}, {"$set": fields})

    def batch(where: dict[str, Any]) -> dict[str, Any]:
        step = {"op": "update", "collection": "users", "id": user_id, "data": {"name": "A."}, "where": where}
        return {"operations": [step]}

    for where, by_server, by_user in (
        ({"roles_eq": "admin"}, 200, 409),
        ({"roles_ne": "admin"}, 409, 200),
        ({"disabled_eq": False}, 200, 409),
        ({"identities.provider_eq": "google"}, 200, 409),
        ({"identities.provider_ne": "google"}, 409, 200),
        ({"identities.provider_isnull": True}, 409, 200),
        ({"claims.plan_eq": "pro"}, 200, 409),
        ({"email_verified_eq": False}, 200, 409),
    ):
        server = await api.request("POST", "/api/batch", json=batch(where))
        user = await api.as_user(signed["access_token"], "POST", "/api/batch", json=batch(where))
        assert (server.status_code, user.status_code) == (by_server, by_user), (where, server.text, user.text)
