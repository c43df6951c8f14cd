"""The promises of docs/queries.md about unlike values: their order, arrays of ids, letters in upper case."""

from typing import Any

import pytest

from tests.conftest import Api

# In the order that docs/queries.md gives. An array stands where its smallest element would, descending where its largest.
ASCENDING: list[tuple[str, Any]] = [
    ("empty", []),
    ("absent", ...),
    ("null", None),
    ("one", 1),
    ("array", [900, 2]),
    ("three", 3.5),
    ("text", "33"),
    ("object", {"a": 1}),
    ("boolean", False),
]


async def order(api: Api, query: str) -> list[str]:
    return [user["data"]["name"] for user in (await api.users(query)).json()["users"]]


async def test_values_of_several_types_have_the_promised_order(api: Api) -> None:
    for number, (name, value) in enumerate(reversed(ASCENDING)):
        await api.signup(f"user{number}@example.com", name=name, **({} if value is ... else {"mixed": value}))
    ascending = [name for name, _ in ASCENDING]
    found = await order(api, "sort_by=mixed")
    # Absent and null are one value, so the older comes first.
    assert sorted(found[1:3]) == ["absent", "null"]
    assert [*found[:1], "absent", "null", *found[3:]] == ascending
    descending = await order(api, "sort_by=mixed&sort_order=desc")
    assert [name for name in descending if name not in {"absent", "null"}] == [
        "boolean", "object", "text", "array", "three", "one", "empty"
    ]  # fmt: skip


async def test_an_array_of_ids_is_populated_with_an_array(api: Api) -> None:
    ids = [(await api.signup(f"friend{n}@example.com")).json()["user"]["id"] for n in range(2)]
    await api.signup(friends_id=[*ids, "0" * 24])
    (user,) = (await api.users("email_eq=ANN@example.com&populate=friends")).json()["users"]
    assert [friend and friend["id"] for friend in user["data"]["friends"]] == [*ids, None]


@pytest.mark.parametrize("query", ["id_gt=5", "email_lt=b@example.com", "id_gte=2026-01-31"])
async def test_ids_and_addresses_have_no_order(api: Api, query: str) -> None:
    assert (await api.users(query)).status_code == 422
