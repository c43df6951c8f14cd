"""Threat row X0: two copies of a project that differ only in records a reader may not read answer the reader in the
same bytes.

The rules, the records, the differences and the requests are random, from fixed seeds. The readable part is computed
here by a naive reading of the rules as JSON, which shares no code with the service.
"""

import copy
import random
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.conftest import Api, MakeApi
from tests.web.rules.conftest import Person, guest_of, save, sign_up

REFERENCE = {"type": "reference", "collection": "users"}
SCHEMAS: dict[str, Any] = {
    "folders": {"title": {"type": "string"}, "owner_id": REFERENCE, "status": {"type": "string"}},
    "items": {
        "owner_id": REFERENCE,
        "folder_id": {"type": "reference", "collection": "folders"},
        "status": {"type": "string"},
        "group": {"type": "string"},
        "score": {"type": "integer"},
        "note": {"type": "string"},
    },
    "memberships": {"user_id": REFERENCE, "group": {"type": "string"}},
}
SETS = {"groups": {"from": "memberships", "where": {"user_id_eq": "$user.id"}, "take": "group"}}
NAMES = ("ann", "bob", "cid", "dan")
GROUPS = {"ann": ["g1", "g2"], "bob": ["g2"], "cid": [], "dan": []}
ROLES = {"ann": [], "bob": ["editor"], "cid": [], "dan": []}
COUNTED = ("items", "folders", "users")
MOMENT = datetime(2020, 1, 1, tzinfo=UTC)
WORLDS, REQUESTS = 12, 45

Record = dict[str, Any]
Rule = Any


@dataclass
class Copy:
    """One of the two projects: how to ask it, and what it holds."""

    api: Api
    people: dict[str, Person]
    records: dict[str, dict[str, Record]] = field(default_factory=dict)

    def write(self) -> None:
        for name in COUNTED:
            stored = self.api.database[name if name == "users" else f"c_{name}"]
            stored.delete_many({})
            if self.records[name]:
                stored.insert_many(copy.deepcopy(list(self.records[name].values())))


@dataclass(frozen=True)
class Reader:
    """A user, as the rules know him."""

    name: str
    id: str | None

    def holds(
        self, rule: Rule, record: Record, folders: dict[str, Record], folder_rule: Rule, *, negated: bool = False
    ) -> bool:
        if isinstance(rule, bool | str):
            return {False: False, "anyone": True, "users": self.id is not None}[rule] is not negated
        verdicts = [self._entry(key, value, record, folders, folder_rule, negated) for key, value in rule.items()]
        return any(verdicts) if negated else all(verdicts)

    def _entry(
        self, key: str, value: Any, record: Record, folders: dict[str, Record], folder_rule: Rule, negated: bool
    ) -> bool:
        def judge(rule: Rule, negated: bool) -> bool:
            return self.holds(rule, record, folders, folder_rule, negated=negated)

        if key == "not":
            return judge(value, not negated)
        if key in {"or", "and"}:
            verdicts = [judge(each, negated) for each in value]
            return any(verdicts) if (key == "or") is not negated else all(verdicts)
        if key == "folder.$can":
            folder = folders.get(record["data"].get("folder_id"))
            return folder is not None and self.holds(folder_rule, folder, folders, False)
        return self._leaf(key, value, record, negated)

    def _leaf(self, key: str, value: Any, record: Record, negated: bool) -> bool:
        if self.id is None and isinstance(value, str) and value.startswith("$"):
            return False
        data = record["data"]
        match key:
            case "$user.roles_eq":
                return self.id is not None and (value in ROLES[self.name]) is not negated
            case "group_in":
                return (data.get("group") in GROUPS[self.name]) is not negated
            case "id_eq":
                return (record["_id"] == self.id) is not negated
        name, operator = key.rsplit("_", 1)
        wanted = self.id if value == "$user.id" else value
        return ((data.get(name) == wanted) is (operator == "eq")) is not negated

    def sees(self, rules: Record, records: dict[str, dict[str, Record]]) -> Record:
        """Everything that may be read, collection by collection."""
        seen: Record = {name: {} for name in COUNTED}
        for name in COUNTED:
            rule = rules["users"] if name == "users" else rules["collections"][name]
            folder_rule = rules["collections"]["folders"]["read"]
            for record in records[name].values():
                if self.holds(rule["read"], record, records["folders"], folder_rule):
                    seen[name][record["_id"]] = self._visible(name, rule, record)
        return seen

    def _visible(self, name: str, rule: Record, record: Record) -> Record:
        def may_read(field_name: str, default: Rule) -> bool:
            found = rule.get("fields", {}).get(field_name, {}).get("read", default)
            return self.holds(found, record, {}, False)

        if name != "users":
            return {key: value for key, value in record["data"].items() if may_read(key, "anyone")}
        own = {"id_eq": "$user.id"}
        shown = {key: value for key, value in record["data"].items() if may_read(f"data.{key}", own)}
        return {**shown, **({"email": record["email"]} if may_read("email", own) else {})}


def random_rule(rnd: random.Random, *, deep: bool, relations: bool) -> Rule:
    if rnd.random() < 0.15:
        return rnd.choice(["anyone", "users", "users"])
    return random_where(rnd, depth=2 if deep else 0, relations=relations)


def random_where(rnd: random.Random, *, depth: int, relations: bool) -> Record:
    kinds = ["leaf", "leaf", *(["or", "and", "not"] if depth else [])]
    match rnd.choice(kinds):
        case "or":
            return {"or": [random_where(rnd, depth=depth - 1, relations=relations) for _ in range(rnd.randint(1, 3))]}
        case "and":
            return {"and": [random_where(rnd, depth=depth - 1, relations=relations) for _ in range(2)]}
        case "not":
            return {"not": random_where(rnd, depth=depth - 1, relations=False)}
    leaves: list[Record] = [
        {"owner_id_eq": "$user.id"},
        {"owner_id_ne": "$user.id"},
        {"status_eq": "open"},
        {"status_ne": "closed"},
        {"$user.roles_eq": "editor"},
    ]
    if relations:
        leaves += [{"folder.$can": "read"}, {"group_in": "$sets.groups"}]
    return rnd.choice(leaves)


def random_rules(rnd: random.Random) -> Record:
    mine = {"owner_id_eq": "$user.id"}
    write = random_rule(rnd, deep=False, relations=True)
    return {
        "sets": SETS,
        "users": {
            "read": rnd.choice([False, "users", {"id_eq": "$user.id"}, "anyone"]),
            "fields": {"data.name": {"read": rnd.choice(["users", "anyone"])}},
        },
        "collections": {
            "folders": {"read": random_rule(rnd, deep=True, relations=False)},
            "items": {
                "read": random_rule(rnd, deep=True, relations=True),
                "create": rnd.choice(["anyone", "users", write]),
                "update": rnd.choice(["users", write, {"before": write, "after": {"status_ne": "closed"}}]),
                "delete": rnd.choice(["users", write]),
                "fields": {
                    "owner_id": {"write": "create"},
                    "score": {"read": rnd.choice([False, mine, "users", {"$user.roles_eq": "editor"}])},
                    "note": {"read": rnd.choice([False, mine, {"owner_id_ne": "$user.id"}])},
                },
            },
        },
    }


def random_data(rnd: random.Random, name: str, ids: dict[str, list[str]]) -> Record:
    found: Record = {
        "owner_id": rnd.choice([*ids["users"], None]),
        "status": rnd.choice(["open", "closed", None]),
    }
    if name == "folders":
        found["title"] = f"title {rnd.randint(0, 3)}"
    else:
        found |= {
            "group": rnd.choice(["g1", "g2", "g3", None]),
            "score": rnd.choice([*range(6), None]),
            "note": rnd.choice(["red", "green", "blue", None]),
            "folder_id": rnd.choice([*ids["folders"], None]),
        }
    return {key: found[key] for key in sorted(found) if found[key] is not None}


def make_record(id_: str, number: int, data: Record) -> Record:
    moment = MOMENT + timedelta(seconds=number)
    return {"_id": id_, "data": data, "created_at": moment, "updated_at": moment}


def make_records(rnd: random.Random, users: dict[str, Record]) -> dict[str, dict[str, Record]]:
    ids = {"users": list(users), "folders": [f"{number:024x}" for number in range(0x100, 0x106)]}
    folders = {each: make_record(each, n, random_data(rnd, "folders", ids)) for n, each in enumerate(ids["folders"])}
    numbers = range(0x200, 0x210)
    items = {f"{n:024x}": make_record(f"{n:024x}", n, random_data(rnd, "items", ids)) for n in numbers}
    return {"items": items, "folders": folders, "users": copy.deepcopy(users)}


def differ(rnd: random.Random, reader: Reader, rules: Record, records: dict[str, dict[str, Record]]) -> dict[str, Any]:
    """Other records of which `reader` sees the same: each random step that he would see is not made."""
    seen, made = reader.sees(rules, records), records
    ids = {name: list(records[name]) for name in COUNTED}
    for step in range(40):
        name = rnd.choice(COUNTED)
        tried = {**made, name: copy.deepcopy(made[name])}
        change(rnd, name, tried[name], step, ids)
        same_reader = tried["users"].get(reader.id or "") == records["users"].get(reader.id or "")
        if same_reader and reader.sees(rules, tried) == seen:
            made = tried
    return made


def change(rnd: random.Random, name: str, records: dict[str, Record], step: int, ids: dict[str, list[str]]) -> None:
    if not records:
        return
    id_ = rnd.choice(list(records))
    match rnd.choice(["remove", "add", "change", "change"]):
        case "remove":
            del records[id_]
        case "add":
            new_id = f"{0x1000 + step:024x}"
            records[new_id] = {**copy.deepcopy(records[id_]), "_id": new_id}
            if name == "users":
                records[new_id]["email"] = f"new{step}@example.com"
        case _ if name == "users":
            records[id_]["data"]["city"] = rnd.choice(["Rome", "Oslo", "Bern"])
            records[id_]["email"] = f"{rnd.choice(NAMES)}{step}@example.com"
        case _:
            other = random_data(rnd, name, ids)
            key = rnd.choice([*other, "score", "note"] if name == "items" else [*other])
            data = {**records[id_]["data"], key: other.get(key)}
            # The remaining fields keep their order, which answers show.
            records[id_]["data"] = {each: data[each] for each in sorted(data) if data[each] is not None}


CONDITIONS = (
    "status_eq=open", "status_ne=open", "score_gt=2", "score_lte=3", "score_isnull=true", "note_eq=red", "note_ne=red",
    "note_contains=e", "score_in=1,2,3", "folder.title_eq=title 1", "folder.status_ne=open", "folder.owner.name_eq=ann",
    "owner.name_eq=bob", "owner.email_icontains=example", "owner.city_eq=Rome", "group_eq=g1", "folder_id_isnull=true",
    "nothing_eq=1", "folder.nothing_eq=1", "owner.city_isnull=true",
)  # fmt: skip
SORTS = ("created_at", "status", "score", "score", "note", "note", "nothing")


WHERES: tuple[Record, ...] = (
    {"score_gt": 2}, {"not": {"score_lte": 3}}, {"note_eq": "red"}, {"not": {"note_eq": "red"}}, {"note_startswith": "r"},
    {"folder.title_eq": "title 1"}, {"not": {"folder.title_eq": "title 1"}}, {"not": {"folder.owner.name_eq": "ann"}},
    {"not": {"owner.city_eq": "Rome"}}, {"owner.email_startswith": "a"}, {"not": {"owner.email_eq": "ann@example.com"}},
    {"status_in": ["open"]}, {"group_hasall": ["g1"]}, {"not": {"nothing_eq": 1}}, {"not": {"folder_id_isnull": False}},
    {"score_isnull": True}, {"not": {"score_isnull": True}}, {"folder.owner_id_isnull": True},
)  # fmt: skip
FIELDS = ("status", "score", "note", "owner_id", "folder_id", "folder.title", "owner.name", "owner.city", "nothing")
COUNT = {"n": "count"}
# Saved ones, which anyone may run as far as the rules let them read.
AGGREGATIONS: tuple[tuple[str, Record], ...] = (
    (
        "items",
        {"group": {"k": "status"}, "values": COUNT | {"s": {"sum": "score"}, "o": {"count_distinct": "owner_id"}}},
    ),
    ("items", {"group": {"f": "folder.title", "o": "owner.name"}, "values": COUNT}),
    ("items", {"group": {"c": "folder.owner.city"}, "values": COUNT | {"m": {"max": "status"}}}),
    ("items", {"where": {"not": {"note_eq": "red"}}, "values": COUNT | {"m": {"max": "score"}}}),
    ("items", {"where": {"not": {"folder.title_eq": "title 1"}}, "group": {"k": "note"}, "values": COUNT}),
    ("items", {"group": {"d": {"field": "created_at", "every": "month", "timezone": "Europe/Rome"}}, "values": COUNT}),
    (
        "items",
        {"where": {"score_gt": 1}, "values": {"a": {"count_distinct": "group"}, "b": {"count_distinct": "status"}}},
    ),
    ("users", {"group": {"k": "city"}, "values": COUNT | {"m": {"min": "email"}}}),
)


def random_tree(rnd: random.Random, depth: int) -> Record:
    found = copy.deepcopy(rnd.choice(WHERES))
    if depth and rnd.random() < 0.6:
        word = rnd.choice(["or", "and", "not"])
        parts = [random_tree(rnd, depth - 1) for _ in range(rnd.randint(1, 2))]
        found = {"not": parts[0]} if word == "not" else {word: parts}
    return found


def random_body(rnd: random.Random) -> Record:
    body: Record = {"limit": rnd.randint(1, 5)}
    if rnd.random() < 0.8:
        body["where"] = random_tree(rnd, 2)
    if rnd.random() < 0.5:
        body["sort_by"] = [
            f"{rnd.choice(['', '-'])}{name}" for name in rnd.sample(sorted(set(SORTS)), k=rnd.randint(1, 2))
        ]
    if rnd.random() < 0.3:
        body["populate"] = [rnd.choice(["owner", "folder", "folder.owner", "*"])]
    if rnd.random() < 0.3:
        body["fields"] = rnd.sample(FIELDS, k=2)
    if rnd.random() < 0.5:
        body["count"] = rnd.choice(["exact", "capped", "estimated", "none"])
    if rnd.random() < 0.6:
        body["cursor"] = "*"
    return body


KINDS = (
    ("list",) * 6
    + ("query",) * 5
    + ("distinct", "users where", "aggregate", "aggregate", "aggregate")
    + ("get",) * 3
    + ("folders", "users", "users", "user", "create", "merge", "merge", "replace", "delete")
)
USERS = ("name_eq=ann", "city_eq=Rome", "email_contains=example", "city_ne=Oslo", "count=true", "sort_by=city")


QUERIES = {"POST": "/api/collections/items/query", "QUERY": "/api/collections/items/documents"}


def random_request(rnd: random.Random, ids: dict[str, list[str]]) -> tuple[str, str, Record | None]:
    documents = "/api/collections/items/documents"
    item, sent = f"{documents}/{rnd.choice(ids['items'])}", random_data(rnd, "items", ids)
    few = {name: sent[name] for name in rnd.sample(sorted(sent), k=min(len(sent), rnd.randint(1, 2)))}
    asked = rnd.choice(list(QUERIES))
    kinds: dict[str, tuple[str, str, Record | None]] = {
        "list": ("GET", f"{documents}{random_query(rnd)}", None),
        "query": (asked, QUERIES[asked], random_body(rnd)),
        "distinct": ("GET", f"/api/collections/items/distinct?field={rnd.choice(FIELDS)}", None),
        "users where": ("POST", "/auth-collections/users/query", random_users_body(rnd)),
        "aggregate": ("GET", f"/api/aggregations/a{rnd.randrange(len(AGGREGATIONS))}", None),
        "get": ("GET", item, None),
        "folders": ("GET", "/api/collections/folders/documents?populate=owner", None),
        "users": ("GET", f"/auth-collections/users?{rnd.choice(USERS)}", None),
        "user": ("GET", f"/auth-collections/users/{rnd.choice(ids['users'])}", None),
        "create": ("POST", documents, {"data": sent}),
        "merge": ("PATCH", item, {"data": {name: few[name] for name in few if name != "owner_id"}}),
        "replace": ("PUT", item, {"data": {name: sent[name] for name in sent if name != "owner_id"}}),
        "delete": ("DELETE", item, None),
    }
    return kinds[rnd.choice(KINDS)]


def random_users_body(rnd: random.Random) -> Record:
    conditions = (
        {"name_eq": "ann"},
        {"not": {"city_eq": "Rome"}},
        {"email_startswith": "b"},
        {"not": {"email_eq": "x"}},
    )
    body: Record = {"where": {"or": rnd.sample(conditions, k=2)}, "count": rnd.choice(["exact", "capped", "estimated"])}
    return {**body, "sort_by": [rnd.choice(["city", "-name", "email", "-id"])], "limit": 1, "cursor": "*"}


def random_query(rnd: random.Random) -> str:
    parts = rnd.sample(CONDITIONS, k=rnd.choice([0, 0, 1, 1, 2]))
    parts += [f"sort_by={rnd.choice(SORTS)}&sort_order={rnd.choice(['asc', 'desc'])}"] if rnd.random() < 0.5 else []
    parts += [f"populate={rnd.choice(['owner', 'folder', 'folder.owner', '*'])}"] if rnd.random() < 0.3 else []
    parts += [f"limit={rnd.randint(1, 5)}"] if rnd.random() < 0.3 else []
    parts += ["count=false"] if rnd.random() < 0.3 else []
    return f"?{'&'.join(parts)}" if parts else ""


def comparable(answer: Any, written_id: bool) -> tuple[int, str, str | None]:
    """The parts that must be equal: all but the moment, and the id of a new record."""
    text = re.sub(r'"20(?:2[1-9]|[3-9]\d)-[^"]*Z"', '"NOW"', answer.text)
    if written_id and answer.status_code == 201:
        text = text.replace(answer.json()["id"], "NEW")
    return answer.status_code, text, answer.headers.get("www-authenticate")


async def make_copy(make_api: MakeApi) -> Copy:
    api = await make_api()
    for name, schema in SCHEMAS.items():
        answer = await api.request("POST", "/api/collections", json={"name": name, "schema": schema})
        assert answer.status_code == 201, answer.text
    for number, (name, body) in enumerate(AGGREGATIONS):
        definition = {"collection": name, "aggregate": body, "run": "anyone"}
        answer = await api.request("PUT", f"/api/aggregations/a{number}", json=definition)
        assert answer.status_code == 201, answer.text
    people = {name: await sign_up(api, name, *ROLES[name], city="Rome") for name in NAMES}
    return Copy(api, {**people, "guest": guest_of(api)})


def rename_users(first: Copy, second: Copy) -> dict[str, Record]:
    """The users of the first, stored in both: with their ids in the first, so that both say the same."""
    users = {each["_id"]: each for each in first.api.database["users"].find()}
    second.api.database["users"].delete_many({})
    second.api.database["users"].insert_many(copy.deepcopy(list(users.values())))
    return users


async def same_people(first: Copy, second: Copy) -> dict[str, Record]:
    users = rename_users(first, second)
    for name in NAMES:
        token = (await second.api.login(f"{name}@example.com")).json()["access_token"]
        second.people[name] = Person(second.api, first.people[name].id, {"authorization": f"Bearer {token}"})
    memberships = [
        make_record(f"{0x300 + n:024x}", n, {"user_id": first.people[name].id, "group": group})
        for n, (name, group) in enumerate((name, group) for name in NAMES for group in GROUPS[name])
    ]
    for each in (first, second):
        each.api.database["c_memberships"].insert_many(copy.deepcopy(memberships))
    return users


@pytest.mark.parametrize("seed", range(4))
async def test_x0_what_may_not_be_read_changes_no_answer(make_api: MakeApi, seed: int) -> None:
    rnd = random.Random(seed)  # noqa: S311 - nothing secret
    first, second = await make_copy(make_api), await make_copy(make_api)
    users = await same_people(first, second)
    differences = answered = 0
    for _ in range(WORLDS):
        rules = random_rules(rnd)
        for each in (first, second):
            saved = await save(each.api, rules)
            assert saved.status_code == 200, saved.text
        name = rnd.choice(["ann", "bob", "cid", "guest"])
        reader = Reader(name, first.people[name].id or None)
        first.records = make_records(rnd, users)
        second.records = differ(rnd, reader, rules, first.records)
        differences += first.records != second.records
        for each in (first, second):
            each.write()
        answered += await compare(rnd, first, second, reader, rules)
    assert differences > WORLDS * 0.8, "the copies hardly differ"
    assert answered > WORLDS * REQUESTS * 0.25, f"hardly anything was allowed: {answered}"


def is_write(method: str, path: str) -> bool:
    return method not in {"GET", "QUERY"} and not path.endswith("/query")


async def ask_on(person: Person, method: str, path: str, body: Record | None) -> Any:
    """The answer; with a cursor, that of the third page, or of the last."""
    answer = await person.ask(method, path, json=body)
    for _ in range(2):
        following = answer.json().get("next") if body and "cursor" in body and answer.is_success else None
        if following is not None:
            answer = await person.ask(method, path, json={**(body or {}), "cursor": following})
    return answer


async def compare(rnd: random.Random, first: Copy, second: Copy, reader: Reader, rules: Record) -> int:
    """Sends the same requests to both; returns how many were allowed."""
    ids = {name: [*first.records[name], *second.records[name], "f" * 24] for name in COUNTED}
    allowed = 0
    for _ in range(REQUESTS):
        method, path, body = random_request(rnd, ids)
        answers = [await ask_on(each.people[reader.name], method, path, body) for each in (first, second)]
        here, there = (comparable(answer, method == "POST") for answer in answers)
        assert here == there, (reader, rules, method, path, body)
        allowed += answers[0].is_success
        if is_write(method, path) and answers[0].is_success:
            for each in (first, second):
                each.write()
    return allowed
