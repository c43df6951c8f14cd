"""The typed changes of documents, as MongoDB carries them out."""

from service.schema.operations import FieldOperation
from service.storage.documents import DocumentStore, Guard, ReplaceData, SetFields
from tests.conftest import Api
from tests.declared import added, declare


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
