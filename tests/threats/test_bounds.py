"""Rows N1, N2, N33 and N34: how much one body and one user may hold, and that reading it is linear."""

import ast
import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faults.samples import FORM_TYPE, data_part, form
from service import bounds
from service.bounds import MAX_NAMES, MAX_USER_BYTES, MAX_VALUES
from service.errors import Invalid
from service.schema.strict_json import loads
from service.schema.values import check_data
from tests.conftest import Api, CommandRecorder
from tests.declared import declare, violations
from tests.threats.conftest import Victim, assert_refused

USER, SIGNUP = "/auth-collections/user", "/auth-collections/signup"


def repeating(count: int) -> bytes:
    """An object of `count` names, the last of which occurs twice."""
    return json.dumps({f"n{number}": 1 for number in range(count)}).encode()[:-1] + f',"n{count - 1}":2}}'.encode()


def seconds(work: Callable[[], object]) -> float:
    """Seconds of this thread's own time, which is the same beside others."""
    started = time.thread_time()
    work()
    return time.thread_time() - started


def refuse(raw: bytes) -> None:
    with pytest.raises(Invalid):
        loads(raw)


def test_n1_a_repeated_name_is_found_in_linear_time() -> None:
    small, large = repeating(2_000), repeating(16_000)
    # Eight times the names; a quadratic search takes 64 times as long.
    assert min(seconds(lambda: refuse(large)) for _ in range(10)) < 25 * min(
        seconds(lambda: refuse(small)) for _ in range(10)
    )


async def test_n1_a_megabyte_whose_last_two_names_are_equal(victim: Victim) -> None:
    started = time.process_time()
    assert_refused(await victim.raw(SIGNUP, repeating(70_000)), 422)
    assert_refused(await victim.raw(SIGNUP, repeating(40_000)), 422)
    assert time.process_time() - started < 5


POINTS = [{"lat": number, "lon": number, "t": number} for number in range(400)]
NAMED: dict[str, tuple[Any, int]] = {
    "at the top": ({f"f{number}": number for number in range(MAX_NAMES + 1)}, MAX_NAMES + 1),
    "inside": ({"a": {f"f{number}": {"x": 1} for number in range(MAX_NAMES // 2)}}, MAX_NAMES + 1),
    "in the objects of an array": ({"a": [{f"f{number}": 1} for number in range(MAX_NAMES)]}, MAX_NAMES + 1),
    "points": ({"points": POINTS}, 4),
    "the same in arrays of arrays": ({"a": [[[{"x": 1}]], [{"x": [{"y": 1}]}]]}, 3),
    "numbers": ({"a": list(range(40_000))}, 1),
    "the most": ({f"f{number}": number for number in range(MAX_NAMES)}, MAX_NAMES),
}


@pytest.mark.parametrize(("data", "names"), NAMED.values(), ids=NAMED.keys())
def test_n2_names_are_counted_by_their_paths(data: Any, names: int) -> None:
    assert [found.type for found in check_data(data)] == ["too_many_names"] * (names > MAX_NAMES)


async def test_n2_a_profile_of_16000_fields(victim: Victim) -> None:
    response = await victim.as_user("PUT", json={f"f{number}": 1 for number in range(16_000)})
    assert_refused(response, 422)
    assert violations(response) == [("body", "too_many_names")]
    assert f"{MAX_NAMES:,}" in response.json()["detail"][0]["msg"]


async def test_n2_a_signup_and_a_document_of_too_many_names(fresh_victim: Victim) -> None:
    many: dict[str, Any] = {f"f{number}": 1 for number in range(MAX_NAMES + 1)}
    assert violations(await fresh_victim.api.signup("new@example.com", **many)) == [("body", "too_many_names")]
    await declare(fresh_victim.api, {"a": {"type": "any"}})
    for data, loc in (many, ("body", "data")), ({"a": [{"b": many}]}, ("body", "data", "a", 0, "b")):
        body = {"data": data}
        response = await fresh_victim.api.request("POST", "/api/collections/things/documents", json=body)
        assert violations(response) == [(*loc, "too_many_names")]


async def test_n2_the_most_names_and_400_points_are_stored(fresh_victim: Victim) -> None:
    for data in {f"f{number}": 1 for number in range(MAX_NAMES)}, {"points": POINTS}:
        response = await fresh_victim.as_user("PUT", json=data)
        assert response.status_code == 200
        assert response.json()["data"].items() >= data.items()


def filled(count: int, value: str = "{}") -> bytes:
    """A signup of `count` values beside the body itself."""
    account = b'{"email": "new@example.com", "password": "long enough", "x": ['
    return account + ", ".join([value] * (count - 3)).encode() + b"]}"


@pytest.mark.parametrize("value", ["{}", "[ ]", "1", '"a,b"', '{"a": []}'])
def test_n34_values_are_counted_exactly(value: str) -> None:
    each = 2 if "a" in value and value.startswith("{") else 1
    raw = f"[{', '.join([value] * 100)}]".encode()
    assert len(loads(raw, max_values=100 * each + 1)) == 100
    with pytest.raises(Invalid) as caught:
        loads(raw, max_values=100 * each)
    assert caught.value.violations[0].type == "too_many_values"


@pytest.mark.parametrize("text", ["," * 1_000, '\\",[{' * 200, "\\\\"])
def test_n34_what_stands_in_texts_is_no_value(text: str) -> None:
    assert loads(f'["{text}", 1]'.encode(), max_values=3)


async def test_n34_a_megabyte_of_empty_objects(victim: Victim) -> None:
    response = await victim.raw(SIGNUP, filled(349_000)[:1_048_574] + b"]}")
    assert_refused(response, 422)
    assert violations(response) == [("body", "too_many_values")]
    assert f"{MAX_VALUES:,}" in response.json()["detail"][0]["msg"]


async def test_n34_values_of_the_part_data_are_counted(victim: Victim) -> None:
    body = form(data_part(filled(MAX_VALUES + 1)))
    response = await victim.api.request("POST", SIGNUP, content=body, headers=FORM_TYPE)
    assert violations(response) == [("body", "data", "too_many_values")]


async def test_n34_the_most_values_are_stored(api: Api) -> None:
    response = await api.request(
        "POST", SIGNUP, content=filled(MAX_VALUES - 1), headers={"content-type": "application/json"}
    )
    assert response.status_code == 201, response.text


HALF = "x" * (MAX_USER_BYTES // 2 - 100)


async def test_n33_a_user_does_not_grow_past_the_bound(fresh_victim: Victim) -> None:
    assert (await fresh_victim.as_user("PUT", json={"a": HALF})).status_code == 200
    assert (await fresh_victim.as_user("PUT", json={"b": HALF})).status_code == 200
    before = fresh_victim.stored()
    response = await fresh_victim.as_user("PUT", json={"c": "x" * 1_000})
    assert_refused(response, 413)
    assert str(MAX_USER_BYTES) in response.json()["detail"]
    assert fresh_victim.stored() == before
    assert (await fresh_victim.api.users()).status_code == 200


async def test_n33_what_an_update_replaces_makes_room(fresh_victim: Victim) -> None:
    for value in "y", "z":
        for name in "a", "b":
            text = HALF.replace("x", value)
            assert (await fresh_victim.as_user("PUT", json={name: text})).status_code == 200
    assert (await fresh_victim.as_user("PUT", json={"a": None})).status_code == 200
    assert (await fresh_victim.as_user("PUT", json={"c": HALF})).status_code == 200


async def test_n33_of_updates_at_once_none_goes_past_the_bound(fresh_victim: Victim) -> None:
    text = "x" * (MAX_USER_BYTES // 4)
    answers = await asyncio.gather(*(fresh_victim.as_user("PUT", json={f"f{number}": text}) for number in range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] * 3 + [413] * 5
    assert len((await fresh_victim.as_user("GET")).content) < MAX_USER_BYTES


async def test_n33_a_user_larger_than_before_the_bound_can_be_read_and_shrunk(fresh_victim: Victim) -> None:
    users = fresh_victim.api.database["users"]
    users.update_one({}, {"$set": {"data.old": "x" * 3 * MAX_USER_BYTES}})
    assert (await fresh_victim.as_user("GET")).status_code == 200
    assert (await fresh_victim.as_user("PUT", json={"a": 1})).status_code == 413
    assert (await fresh_victim.as_user("PUT", json={"old": None})).status_code == 200


async def test_n33_a_signup_that_is_larger_in_mongodb_than_in_json(victim: Victim) -> None:
    """1 MiB of JSON whose BSON is larger: an item of an array has its position as its name there."""
    text = '"' + "x" * 16 + '"'
    body = filled(MAX_VALUES - 10, text)
    assert len(body) < 1_048_576
    assert_refused(await victim.raw(SIGNUP, body), 413)


async def test_n33_a_user_within_the_bound_is_one_command(fresh_victim: Victim, commands: CommandRecorder) -> None:
    await fresh_victim.as_user("PUT", json={"a": HALF})
    commands.commands.clear()
    await fresh_victim.as_user("PUT", json={"b": 1})
    assert commands.names == ["findAndModify"]


def test_each_bound_has_a_name_of_its_own() -> None:
    """A second one of the same name would take the place of the first, silently."""
    tree = ast.parse(Path(bounds.__file__).read_text())
    assigned = [target for each in tree.body if isinstance(each, ast.Assign) for target in each.targets]
    names = Counter(target.id for target in assigned if isinstance(target, ast.Name))
    assert [name for name, times in names.items() if times > 1] == []
