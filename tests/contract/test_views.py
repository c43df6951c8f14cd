"""The views of a contract: what rules leave of the declared collections, for users and for guests."""

from typing import Any

import pytest

from service.contract.model import Contract, RuleAction, View
from service.contract.python import write_python
from service.contract.typescript import write_typescript
from service.contract.views import pick
from tests.contract.declared import declared
from tests.rules.examples import RULES
from tests.rules.examples import SCHEMAS as EXAMPLES

TEXT = {"type": "string"}
BOOKS: dict[str, Any] = {
    "title": {**TEXT, "required": True, "unique": True},
    "owner_id": {"type": "reference", "collection": "users"},
    "shelf_id": {"type": "reference", "collection": "shelves", "required": True},
}
SCHEMAS = {"books": BOOKS, "shelves": {"name": TEXT}}
OWN = {"owner_id_eq": "$user.id"}
CRUD = ("read", "create", "update", "delete")


def seen(books: dict[str, Any], view: View, **more: Any) -> Contract:
    return declared(SCHEMAS, {"collections": {"books": books}, **more}, view)


def actions(books: dict[str, Any], view: View) -> list[str]:
    found = seen(books, view).collections
    return [name for name in CRUD if found and RuleAction(name) in found[0].actions]


@pytest.mark.parametrize(
    ("books", "users", "guests"),
    [
        ({}, [], []),
        ({"read": "anyone"}, ["read"], ["read"]),
        ({"read": "users"}, ["read"], []),
        ({"read": OWN}, ["read"], []),
        ({"read": {"not": {"owner_id_eq": "$user.id"}}}, ["read"], []),
        ({"read": {"or": [OWN, {"title_eq": "x"}]}}, ["read"], ["read"]),
        ({"read": {"$now_gt": "2020-01-01"}}, ["read"], ["read"]),
        ({"read": {"$user.roles_eq": "editor"}}, ["read"], []),
        ({"create": "anyone"}, ["create"], ["create"]),
        ({"read": "anyone", "create": "users"}, ["read", "create"], ["read"]),
        ({"update": "anyone"}, [], []),
        ({"read": "anyone", "update": "users", "delete": OWN}, ["read", "update", "delete"], ["read"]),
        ({"read": "anyone", "update": {"before": "anyone", "after": OWN}}, ["read", "update"], ["read"]),
        ({"read": {"shelf.name_eq": "$user.email"}}, ["read"], []),
        ({"read": {"shelf.$can": "read"}}, [], []),
    ],
)
def test_an_operation_is_there_unless_its_rule_is_constantly_false(
    books: dict[str, Any], users: list[str], guests: list[str]
) -> None:
    assert actions(books, View.USERS) == users
    assert actions(books, View.ANYONE) == guests
    assert actions(books, View.SERVER) == list(CRUD)


def test_a_rule_that_follows_another_is_false_with_it() -> None:
    rules = {"collections": {"books": {"read": {"shelf.$can": "read"}}, "shelves": {"read": "users"}}}
    assert [each.name for each in declared(SCHEMAS, rules, View.USERS).collections] == ["books", "shelves"]
    assert declared(SCHEMAS, rules, View.ANYONE).collections == ()


def test_a_reference_to_an_absent_collection_is_absent() -> None:
    (books,) = seen({"read": "anyone", "create": "anyone"}, View.ANYONE).collections
    assert list(books.members) == ["title", "owner_id"]


@pytest.mark.parametrize(("users", "relations"), [({}, {}), ({"users": {"read": "anyone"}}, {"owner": "users"})])
def test_a_relation_is_there_where_its_target_can_be_read(users: dict[str, Any], relations: dict[str, str]) -> None:
    (books,) = seen({"read": "anyone"}, View.ANYONE, **users).collections
    assert books.relations == relations


FIELDS = [
    ({}, True, True, True, True),
    ({"read": "users"}, False, True, True, True),
    ({"read": "users", "write": "server"}, None, None, None, None),
    ({"write": "server"}, True, False, False, True),
    ({"write": "create"}, True, True, False, True),
    ({"write": OWN}, True, False, False, True),
    ({"write": "create", "set": "$user.id"}, True, False, False, True),
    ({"read": {"title_eq": "x"}}, True, True, True, False),
]


@pytest.mark.parametrize(("rule", "is_read", "is_written", "is_changed", "is_certain"), FIELDS)
def test_a_field_has_the_uses_that_its_rules_leave(
    rule: dict[str, Any], is_read: Any, is_written: Any, is_changed: Any, is_certain: Any
) -> None:
    open_ = {"read": "anyone", "create": "anyone", "update": "anyone"}
    books = seen({**open_, "fields": {"owner_id": rule}}, View.ANYONE).collections[0].members
    if is_read is None:
        assert "owner_id" not in books
        return
    found = books["owner_id"]
    assert (found.is_read, found.is_written, found.is_changed) == (is_read, is_written, is_changed)
    assert not is_read or found.is_certain == is_certain


def test_a_field_that_only_an_absent_operation_writes_is_absent() -> None:
    fields = {"title": {"read": "users"}}
    (books,) = seen({"read": "anyone", "fields": fields}, View.ANYONE).collections
    assert "title" not in books.members
    assert books.unique == []


def test_a_row_need_not_have_a_field_that_some_readers_lack() -> None:
    books = {"read": "anyone", "fields": {"title": {"read": OWN}}}
    text = write_typescript(seen(books, View.USERS)).text
    assert "  title?: string;" in text.partition("export interface NewBooks")[0]


def test_k4_projects_that_differ_where_guests_never_come_have_equal_bytes_for_guests() -> None:
    hidden = {"books": {**BOOKS, "price": {"type": "number"}}, "shelves": {"name": TEXT}, "Books": {"secret": TEXT}}
    rules: dict[str, Any] = {"collections": {"books": {"read": "anyone"}}}
    more = {"read": "anyone", "update": OWN, "fields": {"price": {"read": "users", "write": "server"}}}
    for write in (write_typescript, write_python):
        one = write(declared(SCHEMAS, rules, View.ANYONE))
        other = write(declared(hidden, {"collections": {"books": more, "Books": {"read": "users"}}}, View.ANYONE))
        assert one == other


def test_profile_fields_of_servers_cannot_be_sent_by_users() -> None:
    rules = {"users": {"read": "users", "fields": {"data.plan": {"write": "server"}}}}
    for view, is_written in ((View.SERVER, True), (View.USERS, False), (View.ANYONE, False)):
        found = declared({}, rules, view, profile={"plan": TEXT}).users.members["plan"]
        assert (found.is_read, found.is_written) == (True, is_written)


def test_picked_collections_keep_their_references_to_others_without_the_relations() -> None:
    found = pick(declared(SCHEMAS), frozenset({"books"}))
    (books,) = found.collections
    assert list(books.members) == list(BOOKS)
    assert books.relations == {"owner": "users"}
    assert "Shelves" not in write_typescript(found).text


def test_the_examples_of_the_page_about_access_have_all_views() -> None:
    counts = {view: len(declared(EXAMPLES, RULES, view).collections) for view in View}
    assert counts[View.SERVER] == len(EXAMPLES)
    assert counts[View.SERVER] >= counts[View.USERS] > counts[View.ANYONE] > 0
