"""The typed changes of documents, as MongoDB carries them out."""

import pytest
from pymongo.errors import AutoReconnect

from service.schema.operations import FieldOperation
from service.schema.versions import Versions
from service.storage.documents import Change, DocumentStore, Guard, ReplaceData, SetFields
from tests.conftest import Api, CommandRecorder
from tests.declared import added, declare
from tests.storage.test_plain_commands import Refusals


async def test_each_change_is_what_its_name_says(api: Api) -> None:
    await declare(api, {name: {"type": "integer"} for name in "abc"})
    id_ = await added(api, {"a": 1, "b": 2})
    store = DocumentStore(api.project.database, "things")
    changed = await store.change(id_, SetFields({"b": 3, "c": 4}, (FieldOperation("unset", ("a",)),)))
    assert changed is not None
    assert changed.data == {"b": 3, "c": 4}
    replaced = await store.change(id_, ReplaceData({"a": 9}))
    assert replaced is not None
    assert (replaced.data, replaced.created_at) == ({"a": 9}, changed.created_at)
    assert replaced == await store.find(id_)
    assert replaced.updated_at >= changed.updated_at


async def test_a_guard_that_does_not_hold_changes_and_deletes_nothing(api: Api) -> None:
    await declare(api, {"a": {"type": "integer"}})
    id_ = await added(api, {"a": 1})
    store = DocumentStore(api.project.database, "things")
    guard = Guard({"data.a": {"$gt": 1}})
    assert await store.change(id_, SetFields({"a": 5}), guard=guard) is None
    assert not await store.delete(id_, guard=guard)
    assert (await store.find_by_values({"a": [1]}, size=1))[0].data == {"a": 1}
    assert await store.change(id_, SetFields({"a": 2}), guard=Guard({"_id": id_})) is not None
    assert await store.delete(id_, guard=guard)


@pytest.fixture
async def stored(api: Api) -> tuple[DocumentStore, str]:
    """A document with a = 1 and b = 1."""
    await declare(api, {name: {"type": "integer"} for name in "ab"})
    return DocumentStore(api.project.database, "things"), await added(api, {"a": 1, "b": 1})


@pytest.mark.parametrize(
    ("change", "guard", "versions", "is_repeated_by_the_driver"),
    [
        (SetFields({"a": 5}), None, None, False),
        (ReplaceData({"a": 5}), None, None, False),
        (SetFields({"a": 5}), None, (1,), True),
        (SetFields({"a": 5}), Guard({"data.a": 1}), None, True),
        (SetFields({}, (FieldOperation("increment", ("a",), 4),)), None, None, True),
    ],
)
async def test_what_would_be_another_change_the_second_time_is_repeated_by_the_driver(
    stored: tuple[DocumentStore, str],
    commands: CommandRecorder,
    change: Change,
    guard: Guard | None,
    versions: Versions,
    is_repeated_by_the_driver: bool,
) -> None:
    store, id_ = stored
    changed = await store.change(id_, change, guard=guard, versions=versions)
    assert changed is not None
    assert (changed.data["a"], changed.version) == (5, 2)
    assert ["txnNumber" in command for _, command in commands.commands] == [is_repeated_by_the_driver]


async def test_values_that_were_set_when_the_answer_was_lost_are_set_once_more(
    stored: tuple[DocumentStore, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, id_ = stored
    refusals = Refusals(monkeypatch, AutoReconnect("connection closed"), are_late=True)
    changed = await store.change(id_, SetFields({"a": 5}))
    assert changed is not None
    assert (changed.data, changed.version) == ({"a": 5, "b": 1}, 3)
    assert refusals.calls == 2
