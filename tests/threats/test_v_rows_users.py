"""Rows V22, V37 and V38: keys of other projects, and the fields of an account that only servers set and ask for."""

import re

import pytest

from service.web.auth.authenticate import Credential
from service.web.openapi.endpoint import ApiRoute
from service.web.routes import ROUTES
from tests.conftest import Api, MakeApi
from tests.threats.conftest import assert_refused
from tests.web.rules.conftest import save

METHODS, USERS = "/auth-collections/sign-in-methods", "/auth-collections/users"
OF_TOKENS = {
    Credential.USER_TOKEN,
    Credential.RECENT_USER,
    Credential.OPTIONAL_USER,
    Credential.KEY_OR_RECENT_USER,
    Credential.KEY_OR_USER,
    Credential.BY_RULE,
}
BY_TOKEN = [each for each in ROUTES if each.credential in OF_TOKENS]


@pytest.mark.parametrize("route", BY_TOKEN, ids=lambda route: f"{route.method} {route.path}")
async def test_v22_a_publishable_key_of_another_project_beside_a_token_is_401(
    api: Api, make_api: MakeApi, route: ApiRoute
) -> None:
    other, token = await make_api(), (await api.signup()).json()["access_token"]
    path = route.path.format(id="a", name="a", document_id="a", job_id="a", field="a")
    before = list(api.database["users"].find({}, {"last_sign_in_at": 0}))
    answer = await api.as_user(token, route.method, path, headers={"x-api-key": other.publishable_key}, json={})
    assert_refused(answer, 401)
    assert answer.json()["code"] == "invalid_api_key"
    assert list(api.database["users"].find({}, {"last_sign_in_at": 0})) == before
    assert (await api.as_user(token, "GET", "/auth-collections/user")).status_code == 200


@pytest.mark.parametrize("kind", ["secret", "publishable", "unknown", "two"])
async def test_v22_a_key_beside_a_token_must_be_one_of_the_same_project(api: Api, make_api: MakeApi, kind: str) -> None:
    other, token = await make_api(), (await api.signup()).json()["access_token"]
    key = {"secret": other.key, "publishable": other.publishable_key}.get(kind, f"ac_{api.project.id[:8]}_{'x' * 32}")
    headers = [("authorization", f"Bearer {token}"), ("x-api-key", key)]
    headers += [("x-api-key", api.key)] if kind == "two" else []
    answer = await api.http.get("/auth-collections/user", headers=headers)
    assert_refused(answer, 401)
    assert answer.json()["code"] == "invalid_api_key"
    for own in (api.key, api.publishable_key):
        answer = await api.as_user(token, "GET", "/auth-collections/user", headers={"x-api-key": own})
        assert answer.status_code == 200


async def test_v22_a_key_and_the_project_of_the_query_must_agree(api: Api, make_api: MakeApi) -> None:
    other = await make_api()
    for key in (api.key, api.publishable_key):
        for path in (METHODS, "/auth-collections/login-idp"):
            for named in (other.project.id, "no-such-project"):
                answer = await api.http.get(path, params={"project_id": named}, headers={"x-api-key": key})
                assert_refused(answer, 401)
                assert answer.json()["code"] == "invalid_api_key"
        answer = await api.http.get(METHODS, params={"project_id": api.project.id}, headers={"x-api-key": key})
        assert answer.status_code == 200


ANN = {
    "email": "ann@example.com",
    "claims": {"plan": "pro", "seats": 5, "beta": True},
    "email_verified": True,
    "data": {"name": "Ann"},
}
# Profile data of the same names, which is not the account's.
BOB = {
    "email": "bob@example.com",
    "disabled": True,
    "data": {"roles": "admin", "disabled": False, "email_verified": True, "claims": {"plan": "pro"}, "friend_id": "x"},
}
CID = {"email": "cid@example.com", "data": {"name": "Cid"}}


@pytest.fixture
async def three(api: Api) -> dict[str, str]:
    """Ids by name. Ann has roles, Bob only data of their name, and Cid had a role once."""
    made = [await api.request("POST", USERS, json=each) for each in (ANN, BOB, CID)]
    ids = [answer.json()["id"] for answer in made]
    for id_, roles in ((ids[0], ["admin", "staff"]), (ids[2], ["staff"]), (ids[2], [])):
        assert (await api.request("PUT", f"{USERS}/{id_}/roles", json={"roles": roles})).status_code == 200
    return dict(zip(("ann", "bob", "cid"), ids, strict=True))


BY_ACCOUNT = {
    "roles_eq=admin": "ann",
    "roles_ne=admin": "bob cid",
    "roles_in=admin,other": "ann",
    "roles_isnull=true": "bob cid",
    "roles_isnull=false": "ann",
    "disabled_eq=true": "bob",
    "disabled_eq=false": "ann cid",
    "disabled_ne=true": "ann cid",
    "disabled_ne=false": "bob",
    "email_verified_eq=true": "ann",
    "email_verified_ne=true": "bob cid",
    "claims.plan_eq=pro": "ann",
    "claims.seats_eq=5": "ann",
    "claims.beta_eq=true": "ann",
    "claims.plan_eq=free": "",
    "identities.provider_isnull=true": "ann bob cid",
    'where={"not":{"roles_eq":"admin"}}': "bob cid",
    'where={"or":[{"disabled_eq":true},{"claims.seats_eq":5}]}': "ann bob",
    'where={"roles_isnull":true,"disabled_eq":false}': "cid",
    "data.roles_eq=admin": "bob",
}


@pytest.mark.parametrize("query", BY_ACCOUNT)
async def test_v38_the_secret_key_filters_on_the_accounts_fields(api: Api, three: dict[str, str], query: str) -> None:
    answer = await api.users(query)
    assert answer.status_code == 200, answer.text
    names = {id_: name for name, id_ in three.items()}
    assert " ".join(sorted(names[user["id"]] for user in answer.json()["users"])) == BY_ACCOUNT[query]
    assert answer.json()["total"] == len(BY_ACCOUNT[query].split())


@pytest.mark.parametrize(
    "query",
    [
        "sort_by=roles",
        "sort_by=-claims.plan",
        "sort_by=disabled",
        "roles_gt=5",
        "roles_contains=adm",
        "disabled_eq=maybe",
        "disabled_in=true,false",
        "email_verified_isnull=true",
        "claims_eq=pro",
        "claims.plan_ne=pro",
        "claims.a.b_eq=pro",
        "identities.subject_eq=x",
        'where={"disabled_eq":"true"}',
    ],
)
async def test_v38_what_an_account_cannot_be_asked_is_refused(api: Api, three: dict[str, str], query: str) -> None:
    assert_refused(await api.users(query), 422)


@pytest.mark.parametrize(
    "query",
    [
        *(each for each in BY_ACCOUNT if "data." not in each),
        "sort_by=roles",
        "claims_eq=pro",
        "identities.subject_eq=x",
    ],
)
@pytest.mark.parametrize("who", ["user", "guest"])
async def test_v38_for_users_and_guests_no_record_has_these_fields(
    api: Api, three: dict[str, str], who: str, query: str
) -> None:
    opened = {f"data.{name}": {"read": "anyone"} for name in ("disabled", "claims", "roles", "nobody")}
    await save(api, {"users": {"read": "anyone", "fields": {**opened, "email": {"read": "anyone"}}}})
    token = (await api.signup("dan@example.com")).json()["access_token"]
    headers = {"authorization": f"Bearer {token}"} if who == "user" else {"x-api-key": api.publishable_key}
    # The same question about a field that all may read and no user has.
    absent = re.sub(
        r"(data\.)?(roles|disabled|email_verified|claims\.\w+|claims|identities\.\w+)(?=_|$)", "nobody", query
    )
    answers = [await api.http.get(f"{USERS}?{each}", headers=headers) for each in (query, absent)]
    assert [answer.status_code for answer in answers] == [200, 200], answers[0].text
    assert answers[0].json() == answers[1].json()
    assert not {"roles", "disabled", "email_verified", "claims"} & set().union(*answers[0].json()["users"])


async def test_v38_a_relation_to_users_hides_them_too(api: Api, three: dict[str, str]) -> None:
    schema = {"by_id": {"type": "reference", "collection": "users"}}
    await api.request("POST", "/api/collections", json={"name": "notes", "schema": schema})
    await api.request("POST", "/api/collections/notes/documents", json={"data": {"by_id": three["ann"]}})
    opened = {"users": {"read": "anyone"}, "collections": {"notes": {"read": "anyone"}}}
    assert (await save(api, opened)).status_code == 200
    path = "/api/collections/notes/documents?populate=by&"
    for query in ("by.roles_eq=admin", "by.claims.plan_eq=pro", "by.email_verified_eq=true", "by.disabled_eq=false"):
        assert (await api.request("GET", path + query)).json()["total"] == 1
        answer = await api.http.get(path + query, headers={"x-api-key": api.publishable_key})
        assert (answer.status_code, answer.json()["total"]) == (200, 0)
    shown = (await api.http.get(path, headers={"x-api-key": api.publishable_key})).json()["documents"][0]["data"]["by"]
    assert shown.keys() == {"id", "data"}


async def test_v38_an_aggregation_and_distinct_look_at_the_account(api: Api, three: dict[str, str]) -> None:
    body = {"values": {"n": "count"}, "where": {"roles_eq": "admin"}}
    rows = await api.request("POST", f"{USERS}/aggregate", json=body)
    assert rows.json()["rows"][0]["n"] == 1, rows.text
    assert_refused(await api.request("GET", f"{USERS}/distinct?field=roles"), 422)
    values = await api.request("GET", f"{USERS}/distinct?field=data.roles")
    assert values.json()["values"] == ["admin"]


async def test_f8_a_list_by_the_secret_key_shows_what_one_user_does(api: Api, three: dict[str, str]) -> None:
    for listed in (await api.users()).json()["users"]:
        one = (await api.request("GET", f"{USERS}/{listed['id']}")).json()
        assert one.pop("updated_at")
        assert listed == one
    ann = (await api.users("roles_eq=admin")).json()["users"][0]
    assert (ann["roles"], ann["claims"], ann["email_verified"]) == (["admin", "staff"], ANN["claims"], True)
    assert ann["disabled"] is False
