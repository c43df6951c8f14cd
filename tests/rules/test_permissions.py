"""Bound rules: who may do what, unknown variables, and the two images of an update judged by one condition."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.errors import Invalid, Unauthorized
from service.query.matcher import matches
from service.query.reading import Reading
from service.query.tree import Leaf, Tree, all_of, any_of, negate
from service.rules.permissions import EVERYTHING, Permissions, residue
from service.rules.ruleset import CollectionRules, FieldRules, Rules, Transition
from service.rules.templates import NO_RECORD, NOW, USER_ANONYMOUS, USER_EMAIL, USER_ID, USER_ROLES, Values
from service.rules.writes import creation_data, guard_change
from service.schema.steps import finish
from service.schema.values import now
from tests.rules.examples import RULES
from tests.rules.test_document import read

ME, OTHER = "1" * 24, "2" * 24


@pytest.fixture(scope="module")
def rules() -> Rules:
    return read(RULES)


def user(*roles: str, **known: Any) -> Values:
    return Values({NOW: now(), USER_ID: ME, USER_EMAIL: "me@x.com", USER_ROLES: roles, USER_ANONYMOUS: False, **known})


GUEST = Values({NOW: now()})


def record(age: timedelta = timedelta(), **data: Any) -> dict[str, Any]:
    return {"_id": "3" * 24, "data": data, "created_at": now() - age, "updated_at": now()}


def may_read(rules: Rules, name: str, values: Values, **data: Any) -> bool:
    return matches(Permissions(rules.collections[name], values).read, record(**data))


def freedoms(permissions: Permissions) -> tuple[bool, bool, bool]:
    return permissions.reads_freely, permissions.creates_freely, permissions.updates_freely


def test_everything_is_allowed_whatever_the_record() -> None:
    assert freedoms(EVERYTHING) == (True, True, True)
    assert [EVERYTHING.allows(action) for action in ("read", "create", "update", "delete")] == [True] * 4
    assert finish(EVERYTHING.update_condition({"owner_id": OTHER})) is True
    assert (EVERYTHING.guard("email"), EVERYTHING.guard("data.anything")) == (True, True)
    assert creation_data(EVERYTHING, {"owner_id": OTHER}) == {"owner_id": OTHER}


OPEN = CollectionRules(read=True, create=True, delete=True, updates=(Transition(before=True, after=True),))
OWN = Leaf("data.owner_id", "eq", ME)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (OPEN, (True, True, True)),
        (replace(OPEN, read=OWN), (False, True, False)),
        (replace(OPEN, create=OWN), (True, False, True)),
        (replace(OPEN, updates=(Transition(before=True, after=OWN),)), (True, True, False)),
        (replace(OPEN, updates=()), (True, True, False)),
        (replace(OPEN, fields={"a": FieldRules(read=OWN)}), (False, False, False)),
        (replace(OPEN, fields={"a": FieldRules(write="server")}), (True, False, False)),
        (CollectionRules(), (False, False, False)),
    ],
    ids=["open", "read", "create", "after", "no update", "hidden field", "server's field", "none"],
)
def test_rules_are_free_where_nothing_is_left_to_judge(
    rules: CollectionRules, expected: tuple[bool, bool, bool]
) -> None:
    assert freedoms(Permissions(rules, user())) == expected


def test_of_users_nothing_is_read_freely() -> None:
    """A field that no rule names is the user's own."""
    assert not Permissions(OPEN, user(), is_users=True).reads_freely


def test_an_owner_reads_his_note_and_nobody_else(rules: Rules) -> None:
    assert may_read(rules, "notes", user(), owner_id=ME)
    assert not may_read(rules, "notes", user(), owner_id=OTHER)
    assert Permissions(rules.collections["notes"], GUEST).read is False


def test_a_guest_reads_what_is_published_unless_a_set_is_unknown(rules: Rules) -> None:
    """Example 2 with the set of example 11: a guest has blocked no user, and that is not known."""
    assert Permissions(rules.collections["posts"], GUEST).read is False


def test_d1_an_empty_set_is_known(rules: Rules) -> None:
    """`_in` lets nothing through, its negation everything; and neither is a verdict on the caller."""
    nobody = user(**{"sets.blocked": (), "sets.my_teams": ()})
    assert may_read(rules, "posts", nobody, status="published", author_id=OTHER)
    tasks = Permissions(rules.collections["tasks"], nobody).read
    assert tasks is not False
    assert not matches(tasks, record(team_id="t1"))


def test_x4_an_unknown_set_is_false_also_under_not(rules: Rules) -> None:
    assert Permissions(rules.collections["posts"], user()).read is False
    assert Permissions(rules.collections["tasks"], user()).read is False


@pytest.mark.parametrize("value", [None, "absent"])
def test_x4_a_missing_variable_is_false_also_under_not(value: Any) -> None:
    document = {
        "users": {"fields": {"data.plan": {"write": "server"}}},
        "collections": {
            "posts": {
                "read": {"not": {"status_eq": "$user.data.plan"}},
                "create": {"not": {"$user.data.plan_eq": "free"}},
                "delete": {"or": [{"not": {"author.name_eq": "$user.data.plan"}}, {"status_eq": "gone"}]},
            }
        },
    }
    found = Permissions(
        read(document).collections["posts"], user() if value == "absent" else user(**{"user.data.plan": None})
    )
    assert found.read is False
    assert found.create is False
    assert found.delete is False


def test_d6_a_user_without_roles_has_an_empty_list_of_them() -> None:
    found = read({"collections": {"posts": {"read": {"$user.roles_ne": "banned"}}}}).collections["posts"]
    assert Permissions(found, user()).read is True
    assert Permissions(found, user("banned")).read is False
    assert Permissions(found, GUEST).read is False


def test_now_is_shifted(rules: Rules) -> None:
    found = Permissions(rules.collections["messages"], user(**{"sets.my_rooms": ("r1",)}))
    condition = finish(found.update_condition({"text": "new"}))
    young, old = timedelta(minutes=14), timedelta(minutes=16)
    assert matches(condition, record(young, author_id=ME, room_id="r1"))
    assert not matches(condition, record(old, author_id=ME, room_id="r1"))


def test_x7_two_branches_are_no_union(rules: Rules) -> None:
    """The seller ships what is paid, the buyer cancels what is open; who is both cannot ship what is open."""
    found = Permissions(rules.collections["orders"], user())
    both = record(buyer_id=ME, seller_id=ME, status="open")
    assert matches(finish(found.update_condition({"status": "cancelled"})), both)
    assert not matches(finish(found.update_condition({"status": "shipped"})), both)


def test_x5_a_note_cannot_be_given_away(rules: Rules) -> None:
    change = finish(guard_change(Permissions(rules.collections["notes"], user()), {"owner_id": OTHER, "text": "x"}))
    assert change.fields == {"text": "x"}
    assert not matches(change.condition, record(owner_id=ME))


def test_x5_an_article_leaves_its_author_by_no_change(rules: Rules) -> None:
    found = Permissions(rules.collections["articles"], user())
    assert matches(finish(found.update_condition({"title": "x"})), record(author_id=ME, status="draft"))
    assert not matches(finish(found.update_condition({"author_id": OTHER})), record(author_id=ME, status="draft"))
    assert not matches(finish(found.update_condition({"status": "published"})), record(author_id=ME, status="draft"))


def test_a_field_for_servers_is_refused_and_an_owner_is_written(rules: Rules) -> None:
    orders = Permissions(rules.collections["orders"], user())
    with pytest.raises(Invalid):
        creation_data(orders, {"total": 1})
    assert creation_data(orders, {"seller_id": OTHER}) == {"seller_id": OTHER, "buyer_id": ME}
    with pytest.raises(Invalid):
        creation_data(orders, {"buyer_id": OTHER})


def test_d9_a_guest_has_no_id_to_be_written() -> None:
    found = read({"collections": {"notes": {"create": "anyone", "fields": {"owner_id": {"set": "$user.id"}}}}})
    with pytest.raises(Unauthorized):
        creation_data(Permissions(found.collections["notes"], GUEST), {})


def test_a_hidden_field_is_not_shown(rules: Rules) -> None:
    found = Permissions(rules.collections["listings"], user())
    mine = record(seller_id=ME, reserve_price=5, title="x")
    assert found.visible(Reading(mine)) == mine["data"]
    assert found.visible(Reading(record(seller_id=OTHER, reserve_price=5))) == {"seller_id": OTHER}


def test_what_a_set_holds_is_no_verdict_on_the_caller() -> None:
    found = read({**RULES, "collections": {"posts": {"read": {"$sets.my_teams_eq": "t1"}}}}).collections["posts"]
    assert Permissions(found, user(**{"sets.my_teams": ("t2",)})).read == NO_RECORD
    assert Permissions(found, user()).read is False


NAMES = ["a", "b", "c"]
LEAVES = st.builds(
    Leaf,
    st.sampled_from(["data.a", "data.b.x", "data.c"]),
    st.sampled_from(["eq", "ne", "gt", "lte"]),
    st.integers(0, 3),
) | st.builds(Leaf, st.sampled_from(["data.a", "data.b", "data.b.x"]), st.just("isnull"), st.booleans())
TREES: st.SearchStrategy[Tree] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(all_of)
        | st.lists(inner, min_size=1, max_size=3).map(any_of)
        | inner.map(negate)
    ),
    max_leaves=6,
)
VALUES = st.integers(0, 3) | st.none() | st.fixed_dictionaries({"x": st.integers(0, 3)}) | st.lists(st.integers(0, 3))
DATA = st.dictionaries(st.sampled_from(NAMES), VALUES)


@settings(max_examples=2_000, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(after=TREES, stored=DATA, sent=DATA)
def test_x5_what_is_left_of_after_judges_the_record_as_it_becomes(
    after: Tree, stored: dict[str, Any], sent: dict[str, Any]
) -> None:
    left = residue(after, Reading({"data": sent}), sent)
    assert matches(left, {"data": stored}) is matches(after, {"data": {**stored, **sent}})
