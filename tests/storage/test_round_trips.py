"""The round trips to MongoDB that DESIGN promises: one for a profile or a page, never one for each row."""

import pytest

from tests.conftest import Api, CommandRecorder
from tests.rules.examples import RULES
from tests.web.rules.conftest import declare, save, server_of, sign_up

USER = "/auth-collections/user"


@pytest.fixture
async def token(api: Api, commands: CommandRecorder) -> str:
    """A user's token, when everything that is remembered for seconds was remembered."""
    ids: list[str] = []
    for letter in "abcdef":
        body = (await api.signup(f"{letter}@example.com", name=letter, friend_id=ids[0] if ids else None)).json()
        ids.append(body["user"]["id"])
    await api.users()
    await api.as_user(body["access_token"], "GET", USER)
    commands.commands.clear()
    return str(body["access_token"])


async def test_a_profile_is_one_round_trip(api: Api, token: str, commands: CommandRecorder) -> None:
    await api.as_user(token, "GET", USER)
    assert commands.names == ["find"]


async def test_a_profile_update_is_one_round_trip(api: Api, token: str, commands: CommandRecorder) -> None:
    # The project's rules are remembered, as the project itself is.
    await api.as_user(token, "PUT", USER, json={"a": 1})
    commands.commands.clear()
    await api.as_user(token, "PUT", USER, json={"a": 1, "b": 2})
    assert commands.names == ["findAndModify"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("count=false", ["find"]),
        ("count=false&limit=1000", ["find"]),
        ("count=false&name_in=a,b&sort_by=name&populate=friend,other", ["aggregate"]),
        ("count=false&populate=*", ["aggregate"]),
        ("count=false&populate=friend.friend.friend", ["aggregate"]),
        ("limit=2", ["count", "find"]),
        ("limit=2&name_ne=a", ["count", "find"]),
        ("limit=2&name_ne=a&populate=friend", ["aggregate", "count"]),
        ("name_eq=a", ["find"]),
        ("offset=9", ["count", "find"]),
        ("count=false&friend.name_eq=a", ["find", "find"]),
        ("count=false&friend.friend.name_eq=a&friend.name_ne=x", ["find"] * 3),
        ("limit=1&friend.name_eq=a", ["count", "find", "find"]),
    ],
)
async def test_a_list_is_a_page_a_total_and_a_probe_for_each_relation(
    api: Api, token: str, commands: CommandRecorder, query: str, expected: list[str]
) -> None:
    response = await api.users(query)
    assert response.status_code == 200
    assert sorted(commands.names) == expected


async def test_documents_by_rule_are_as_many_round_trips_as_by_key(api: Api, commands: CommandRecorder) -> None:
    """Once the rules, the user and the sets that they name are remembered."""
    await declare(api)
    await save(api, RULES)
    user, server = await sign_up(api, "ann"), server_of(api)
    await server.create("memberships", user_id=user.id, team_id="t")
    for name, data, further in (("posts", {"author_id": user.id}, 1), ("tasks", {"team_id": "t"}, 1)):
        document = (await server.create(name, **data)).json()["id"]
        asked: dict[str, list[list[str]]] = {}
        for person in (user, server, user, server):
            for path in ("", "?populate=author" if name == "posts" else "?limit=1", f"/{document}"):
                commands.commands.clear()
                answer = await person.ask("GET", f"/api/collections/{name}/documents{path}")
                assert answer.status_code == 200, answer.text
                asked.setdefault(f"{path} {person is user}", []).append(sorted(commands.names))
        for path in {path.rpartition(" ")[0] for path in asked}:
            assert asked[f"{path} True"][1] == asked[f"{path} False"][1]
        first, later = asked[" True"]
        # The project, the version of its data, and the user; then the set.
        assert len(first) - len(later) <= 3 + further


async def test_login_reads_the_user_and_stores_a_session(api: Api, token: str, commands: CommandRecorder) -> None:
    await api.login("a@example.com")
    assert commands.names == ["find", "insert"]


async def test_an_indexed_filter_examines_what_it_returns(api: Api, token: str) -> None:
    """The wildcard index serves an undeclared field."""
    plan = api.database.command(
        "explain",
        {"aggregate": "users", "pipeline": [{"$match": {"data.name": {"$in": ["b"]}}}], "cursor": {}},
        verbosity="executionStats",
    )
    assert plan["executionStats"]["totalDocsExamined"] == 1
