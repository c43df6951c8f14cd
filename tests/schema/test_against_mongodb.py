"""The same table against the real database: its validator judges, and its verdicts are translated.

RE2 judges patterns.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.collection import Collection
from pymongo.errors import WriteError

from service.bounds import MAX_SCHEMA_DEPTH
from service.errors import Violation
from service.schema.documents import complete
from service.schema.fields import Fields, parse
from service.schema.json_schema import validator
from service.schema.patterns import Programs, find_texts, judge
from service.schema.steps import take_steps
from service.schema.values import now
from service.schema.violations import translate
from tests.schema.cases import CASES, Case
from tests.schema.test_fields import nested

Documents = Collection[dict[str, Any]]
JARGON = ("bsonType", "additionalProperties", "minLength", "considered")


@pytest.fixture
def documents(mongo: MongoClient[dict[str, Any]], database_prefix: str) -> Iterator[Documents]:
    database = mongo[f"{database_prefix}schema"]
    yield database["documents"]
    database.drop_collection("documents")


def declare(documents: Documents, schema: dict[str, Any]) -> Fields:
    fields = parse(schema)
    documents.drop()
    documents.database.create_collection(documents.name, validator=validator(fields))
    return fields


def insert(documents: Documents, data: Any, extra: dict[str, Any] | None = None) -> list[Violation]:
    """The database's violations for `data`; empty if it is stored."""
    moment = now()
    record = {
        "_id": str(documents.estimated_document_count()),
        "data": data,
        "created_at": moment,
        "updated_at": moment,
    }
    try:
        documents.insert_one(record | (extra or {}))
    except WriteError as error:
        return translate((error.details or {})["errInfo"])
    return []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_mongodb_judges_as_the_table_says(case: Case, documents: Documents) -> None:
    fields = declare(documents, {"f": case.definition})
    assert [insert(documents, complete({"f": value}, fields)) for value in case.good] == [[]] * len(case.good)
    refused = [complete({"f": each.value}, fields) for each in case.bad]
    found = [
        take_steps(judge(find_texts(data, fields, ("body", "data")), Programs())) or insert(documents, data)
        for data in refused
    ]
    assert [told(each) for each in found] == [each.violations for each in case.bad]
    assert documents.count_documents({}) == len(case.good)


def told(violations: list[Violation]) -> list[tuple[Any, str, str]]:
    assert all(violation.loc[:2] == ("body", "data") for violation in violations)
    assert not any(word in violation.msg for violation in violations for word in JARGON)
    return [(violation.loc[2:], violation.type, violation.msg) for violation in violations]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_absence_is_judged_by_required_alone(case: Case, documents: Documents) -> None:
    declare(documents, {"f": case.definition})
    assert insert(documents, {}) == []
    declare(documents, {"f": {**case.definition, "required": True}})
    assert [(v.loc, v.type) for v in insert(documents, {})] == [(("body", "data", "f"), "missing")]


def test_a_record_of_another_form_is_refused(documents: Documents) -> None:
    declare(documents, {"f": {"type": "any"}})
    others: list[dict[str, Any]] = [{"x": 1}, {"created_at": "now"}, {"data": []}, {"_id": 7}]
    assert all(insert(documents, {}, other) for other in others)
    assert documents.count_documents({}) == 0


def test_names_with_spaces_and_of_any_script_are_fields_like_others(documents: Documents) -> None:
    schema = {"IMDB Rating": {"type": "number"}, "название": {"type": "string"}, "0": {"type": "integer"}}
    declare(documents, schema)
    found = insert(documents, {"IMDB Rating": "x", "название": 1, "0": ""})
    assert [violation.loc[-1] for violation in found] == ["IMDB Rating", "название", "0"]


def test_the_deepest_and_the_widest_schema_are_ones_mongodb_accepts(documents: Documents) -> None:
    wide = {f"field {number}": nested(3) for number in range(160)}
    declare(documents, {"deep": nested(MAX_SCHEMA_DEPTH), **wide})
    data: Any = 1
    for _ in range(MAX_SCHEMA_DEPTH - 1):
        data = {"a": data}
    (violation,) = insert(documents, {"deep": data})
    assert violation.loc == ("body", "data", "deep", *("a",) * (MAX_SCHEMA_DEPTH - 1))


@pytest.mark.parametrize("err_info", [{}, {"details": {"operatorName": "$jsonSchema", "truncated": True}}])
def test_a_refusal_without_reasons_is_still_told(err_info: dict[str, Any]) -> None:
    (violation,) = translate(err_info)
    assert violation == Violation(("body", "data"), "Does not fit the schema of this collection", "value_error")


def test_a_long_enum_is_cut_short(documents: Documents) -> None:
    declare(documents, {"f": {"type": "integer", "enum": list(range(100))}})
    (violation,) = insert(documents, {"f": 100})
    assert violation.msg.endswith("18, 19 and 80 others")
