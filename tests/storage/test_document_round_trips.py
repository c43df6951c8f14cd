"""The round trips that DESIGN promises of documents: one to read, one to write, one more for all references."""

from typing import Any

import pytest

from tests.conftest import Api, CommandRecorder
from tests.declared import add, added, declare, find, one


@pytest.fixture
async def thing(api: Api, commands: CommandRecorder) -> dict[str, Any]:
    """A document with two references, when the definitions are remembered."""
    user = (await api.signup()).json()["user"]["id"]
    await declare(api, {"name": {"type": "string"}}, "makers")
    reference = {"type": "reference", "collection": "makers"}
    owner = {"type": "reference", "collection": "users"}
    await declare(
        api, {"n": {"type": "integer", "default": 1}, "maker_id": reference, "other_id": reference, "owner_id": owner}
    )
    maker = await added(api, {"name": "Acme"}, "makers")
    data = {"maker_id": maker, "other_id": maker, "owner_id": user}
    id_ = await added(api, data)
    commands.commands.clear()
    return {"id": id_, "data": data}


async def test_a_read_is_one_round_trip(api: Api, thing: dict[str, Any], commands: CommandRecorder) -> None:
    await one(api, "GET", thing["id"])
    assert commands.names == ["find"]


async def test_a_write_without_references_is_one_round_trip(
    api: Api, thing: dict[str, Any], commands: CommandRecorder
) -> None:
    assert (await add(api, {"n": 2})).status_code == 201
    assert (await one(api, "PATCH", thing["id"], {"n": 3})).status_code == 200
    assert (await one(api, "PUT", thing["id"], {"n": 3})).status_code == 200
    assert (await one(api, "DELETE", thing["id"])).status_code == 204
    assert commands.names == ["insert", "findAndModify", "findAndModify", "delete"]


async def test_all_references_of_a_write_are_checked_in_one_more(
    api: Api, thing: dict[str, Any], commands: CommandRecorder
) -> None:
    assert (await add(api, thing["data"])).status_code == 201
    assert (await one(api, "PATCH", thing["id"], thing["data"])).status_code == 200
    assert (await one(api, "PUT", thing["id"], thing["data"])).status_code == 200
    assert commands.names == ["aggregate", "insert", "aggregate", "findAndModify", "aggregate", "findAndModify"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("count=false", ["find"]),
        ("count=false&populate=maker,other,owner", ["aggregate"]),
        ("count=false&populate=*", ["aggregate"]),
        ("", ["find"]),
        ("limit=1", ["count", "find"]),
        ("limit=1&n_eq=1", ["count", "find"]),
        ("count=false&maker.name_eq=Acme", ["find", "find"]),
    ],
)
async def test_a_list_is_a_page_a_total_and_a_probe_for_each_relation(
    api: Api, thing: dict[str, Any], commands: CommandRecorder, query: str, expected: list[str]
) -> None:
    # The project's rules, which say what files are shown of users, are remembered, as the project itself is.
    await find(api, query)
    commands.commands.clear()
    assert (await find(api, query)).status_code == 200
    assert sorted(commands.names) == expected


async def test_a_refused_write_looks_whether_the_definition_was_old(
    api: Api, thing: dict[str, Any], commands: CommandRecorder
) -> None:
    assert (await add(api, {"n": "x"})).status_code == 422
    assert commands.names == ["insert", "find"]
