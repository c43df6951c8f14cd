"""The users list on real data: the demo project's 77 characters, through HTTP."""

from typing import Any

import pytest
from pymongo import MongoClient

from service.app import Application
from tests.conftest import Api
from tests.demo import seed_demo
from tests.pool import Pool


@pytest.fixture(scope="module")
async def characters(
    pool: Pool, running_app: Application, mongo: MongoClient[Any], database_prefix: str
) -> list[dict[str, Any]]:
    """The demo's users as they are stored, seeded once."""
    await seed_demo(running_app.services, files=(), collections={})
    stored = list(mongo[f"{database_prefix}p_demo"]["users"].find())
    await pool.empty()
    return stored


@pytest.fixture
def demo(api: Api, characters: list[dict[str, Any]]) -> Api:
    api.database["users"].insert_many(characters)
    return api


async def names(demo: Api, query: str) -> list[str]:
    body = (await demo.users(query)).json()
    return [user["data"]["name"] for user in body["users"]]


@pytest.mark.parametrize(
    ("query", "total"),
    [
        ("", 77),
        ("group_eq=2", 14),
        ("name_contains=Mme", 6),
        ("name_icontains=JEAN", 1),
        ("referred_by_id_isnull=true", 4),
        ("referred_by_id_isnull=false", 73),
        ("referred_by.name_eq=Valjean", 16),
        ("group_gte=3&group_lte=5", 31),
        ("group_ne=2", 63),
        ("group_in=1,2", 24),
        ("email_eq=VALJEAN@example.com", 1),
        ("created_at_lt=2000-01-01", 0),
        ("created_at_gte=2000-01-01&updated_at_gte=2000-01-01", 77),
        ("referred_by.referred_by.name_eq=Myriel", 16),
        ("referred_by.group_eq=2&referred_by.name_contains=e&group_eq=4", 2),
    ],
)
async def test_totals_on_the_demo_project(demo: Api, query: str, total: int) -> None:
    response = await demo.users(query)
    assert response.status_code == 200
    assert response.json()["total"] == total
    assert len(response.json()["users"]) == min(total, 50)


async def test_populate_carries_the_related_user(demo: Api) -> None:
    body = (await demo.users("referred_by.name_eq=Valjean&populate=referred_by")).json()
    valjean = demo.database["users"].find_one({"data.name": "Valjean"})
    assert valjean is not None
    assert len(body["users"]) == 16
    for user in body["users"]:
        assert user["data"]["referred_by_id"] == valjean["_id"]
        assert user["data"]["referred_by"] == {
            "id": valjean["_id"],
            "email": "valjean@example.com",
            "data": valjean["data"],
        }


async def test_an_array_of_ids_can_be_filtered_by_one_of_them(demo: Api) -> None:
    (valjean,) = (await demo.users("name_eq=Valjean")).json()["users"]
    body = (await demo.users(f"following_eq={valjean['id']}&limit=100")).json()
    assert body["total"] == 36
    assert {user["id"] for user in body["users"]} == set(valjean["data"]["following"])


async def test_populate_gives_null_where_the_related_user_is_gone(demo: Api) -> None:
    demo.database["users"].delete_one({"data.name": "Valjean"})
    (cosette,) = (await demo.users("name_eq=Marguerite&populate=referred_by")).json()["users"]
    assert cosette["data"]["referred_by"] is None


async def test_populate_adds_nothing_where_there_is_no_id(demo: Api) -> None:
    (myriel,) = (await demo.users("name_eq=Myriel&populate=referred_by")).json()["users"]
    assert "referred_by" not in myriel["data"]


async def test_populate_of_everything_expands_what_resolves(demo: Api) -> None:
    users = demo.database["users"]
    ids = [user["_id"] for user in users.find({"data.group": 1}).sort("_id", 1).limit(2)]
    extra = {"data.friend_ids_id": ids, "data.order_id": "no user", "data.n_id": 7, "data._id": ids[0]}
    users.update_one({"data.name": "Cosette"}, {"$set": extra})
    (cosette,) = (await demo.users("name_eq=Cosette&populate=*")).json()["users"]
    data = cosette["data"]
    assert data["referred_by"]["id"] == data["referred_by_id"]
    assert [friend["id"] for friend in data["friend_ids"]] == ids
    assert data.keys() == {
        *("name", "group", "following", "referred_by_id", "referred_by"),
        *("friend_ids_id", "friend_ids", "order_id", "n_id", "_id"),
    }


async def test_populate_follows_a_chain(demo: Api) -> None:
    (marguerite,) = (await demo.users("name_eq=Marguerite&populate=referred_by.referred_by")).json()["users"]
    valjean = marguerite["data"]["referred_by"]
    assert valjean["data"]["name"] == "Valjean"
    assert valjean["data"]["referred_by"].keys() == {"id", "email", "data"}
    assert valjean["data"]["referred_by"]["data"]["name"] == "Myriel"


async def test_several_relations_are_populated_at_once(demo: Api) -> None:
    (valjean,) = (await demo.users("name_eq=Valjean")).json()["users"]
    demo.database["users"].update_one({"data.name": "Cosette"}, {"$set": {"data.father_id": valjean["id"]}})
    (cosette,) = (await demo.users("name_eq=Cosette&populate=referred_by,father")).json()["users"]
    assert cosette["data"]["father"]["data"]["name"] == "Valjean"
    assert cosette["data"]["referred_by"]["id"] == cosette["data"]["referred_by_id"]


async def test_the_default_order_is_oldest_first(demo: Api) -> None:
    assert await names(demo, "limit=3") == ["Myriel", "Napoleon", "Mlle.Baptistine"]
    assert await names(demo, "limit=2&offset=75") == ["Brujon", "Mme.Hucheloup"]
    assert await names(demo, "limit=2&sort_order=desc") == ["Mme.Hucheloup", "Brujon"]


async def test_ties_are_broken_by_id(demo: Api) -> None:
    everyone = (await demo.users("limit=77&sort_by=group")).json()["users"]
    assert everyone == sorted(everyone, key=lambda user: (user["data"]["group"], user["id"]))
    backwards = (await demo.users("limit=77&sort_by=group&sort_order=desc")).json()["users"]
    assert backwards == everyone[::-1]


async def test_pages_are_disjoint_and_complete(demo: Api) -> None:
    pages = [await names(demo, f"sort_by=group&limit=20&offset={offset}") for offset in (0, 20, 40, 60, 80)]
    assert [len(page) for page in pages] == [20, 20, 20, 17, 0]
    assert len({name for page in pages for name in page}) == 77


async def test_sorting_by_a_nested_field(demo: Api) -> None:
    demo.database["users"].update_one({"data.name": "Javert"}, {"$set": {"data.address": {"city": "Montreuil"}}})
    assert await names(demo, "sort_by=data.address.city&sort_order=desc&limit=1") == ["Javert"]
    assert await names(demo, "data.address.city_eq=Montreuil") == ["Javert"]


async def test_the_envelope_says_what_was_applied(demo: Api) -> None:
    body = (await demo.users("group_eq=2&limit=3&offset=1&count=false")).json()
    assert (body["total"], body["limit"], body["offset"]) == (None, 3, 1)
    assert len(body["users"]) == 3
    of_account = {"email_verified", "disabled", "claims"}
    assert all(user.keys() == {"id", "email", "data", "created_at", *of_account} for user in body["users"])


async def test_a_time_filter_takes_a_date_or_a_moment(demo: Api) -> None:
    users = (await demo.users("limit=77")).json()["users"]
    moment = users[40]["created_at"]
    assert (await demo.users(f"created_at_lt={moment}")).json()["total"] == 40
    assert (await demo.users(f"created_at_eq={moment}")).json()["total"] == 1
    refused = await demo.users("created_at_gte=yesterday")
    assert refused.status_code == 422
    assert "ISO 8601" in refused.json()["detail"][0]["msg"]


async def test_id_in_selects_by_id(demo: Api) -> None:
    (valjean,) = (await demo.users("name_eq=Valjean")).json()["users"]
    chosen = valjean["data"]["following"][:3]
    body = (await demo.users(f"id_in={','.join(chosen)}")).json()
    assert {user["id"] for user in body["users"]} == set(chosen)


async def test_a_filter_across_a_relation_that_many_satisfy_is_streamed(
    demo: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same answers whether the related ids were few enough to be listed or not."""
    query = "referred_by.group_gte=2&referred_by.referred_by.name_contains=e&sort_by=name&limit=9&offset=3"
    listed = (await demo.users(query)).json()
    monkeypatch.setattr("service.query.commands.PROBE_LIMIT", 1)
    streamed = (await demo.users(query)).json()
    assert listed == streamed
    assert listed["total"] == 50
    assert len(listed["users"]) == 9


@pytest.mark.parametrize("populate", ["referred_by", "referred_by.referred_by", "*"])
async def test_a_streamed_page_is_populated_as_any(demo: Api, monkeypatch: pytest.MonkeyPatch, populate: str) -> None:
    query = f"referred_by.group_gte=2&sort_by=name&limit=9&offset=3&populate={populate}"
    listed = (await demo.users(query)).json()
    monkeypatch.setattr("service.query.commands.PROBE_LIMIT", 1)
    assert (await demo.users(query)).json() == listed
    assert all(user["data"]["referred_by"]["id"] == user["data"]["referred_by_id"] for user in listed["users"])


async def test_two_relations_are_filtered_at_once(demo: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    (valjean,) = (await demo.users("name_eq=Valjean")).json()["users"]
    demo.database["users"].update_many({"data.group": 5}, {"$set": {"data.mentor_id": valjean["id"]}})
    query = "referred_by.group_ne=99&mentor.group_ne=99"
    listed = (await demo.users(query)).json()
    monkeypatch.setattr("service.query.commands.PROBE_LIMIT", 0)
    assert (await demo.users(query)).json() == listed
    assert listed["total"] == 10


async def test_conditions_on_one_relation_apply_to_one_record(demo: Api) -> None:
    """With an array of ids, no two related records may satisfy one condition each."""
    users = demo.database["users"]
    pair = [user["_id"] for user in users.find({"data.name": {"$in": ["Myriel", "Valjean"]}})]
    users.update_one({"data.name": "Judge"}, {"$set": {"data.friends_id": pair}})
    assert await names(demo, "friends.name_eq=Myriel&friends.group_eq=1") == ["Judge"]
    assert await names(demo, "friends.name_eq=Myriel&friends.group_eq=2") == []
