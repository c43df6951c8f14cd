"""Every refusal of the data API: where it stands, of which type it is, and what it says."""

import json
from typing import Any

import pytest

from service.query.operators import OPERATORS
from service.query.parse import OTHERS
from tests.conftest import Api
from tests.declared import added, declare

COLLECTION = "/api/collections/things"
DOCUMENTS, QUERY, UPDATE = f"{COLLECTION}/documents", f"{COLLECTION}/query", f"{COLLECTION}/update"
AGGREGATE, BATCH = f"{COLLECTION}/aggregate", "/api/batch"
# Placeholders in requests for the ids of the one document and the one user.
ID, USER = "{id}", "{user}"
SCHEMA: dict[str, Any] = {
    "name": {"type": "string"},
    "stock": {"type": "integer"},
    "ok": {"type": "boolean"},
    "tags": {"type": "array"},
    "any": {"type": "any"},
    "list": {"type": "any"},
    "made": {"type": "datetime"},
    "sku": {"type": "string", "unique": True},
    "maker_id": {"type": "reference", "collection": "makers"},
}
UNKNOWN = f"Unknown parameter; a filter is <field>_<operator> with one of {', '.join(f'_{each}' for each in OPERATORS)}"
# Method, path and body of a request, and (loc, type, msg) of each broken rule.
Rows = list[tuple[str, str, Any, list[tuple[Any, ...]]]]

QUERY_STRINGS: Rows = [
    ('GET', DOCUMENTS + '?nope=1', None, [(('query', 'nope'), 'value_error', UNKNOWN + OTHERS)]),
    ('GET', DOCUMENTS + '?a..b_eq=1', None, [(('query', 'a..b_eq'), 'value_error', 'Not the name of a field')]),
    ('GET', DOCUMENTS + '?a.b.c.d.e_eq=1', None,
     [(('query', 'a.b.c.d.e_eq'), 'value_error', 'A filter may follow at most 3 relations')]),
    ('GET', DOCUMENTS + '?name_eq=', None,
     [(('query', 'name_eq'), 'value_error', 'A value is missing; leave the parameter out or give it one')]),
    ('GET', DOCUMENTS + '?name_eq=a&name_eq=b', None, [(('query', 'name_eq'), 'repeated', 'A parameter may be sent once')]),
    ('GET', DOCUMENTS + '?&', None, [(('query',), 'value_error', 'The query string has no parameter')]),
    ('GET', DOCUMENTS + '?name_eq=%ff', None, [(('query',), 'value_error', 'The query string must be percent-encoded UTF-8')]),
    ('GET', DOCUMENTS + '?limit=0', None, [(('query', 'limit'), 'value_error', 'Must be a whole number from 1 to 1000')]),
    ('GET', DOCUMENTS + '?sort_by=a,b,c,d', None, [(('query', 'sort_by'), 'value_error', 'At most 3 fields may be sorted by')]),
    ('GET', DOCUMENTS + '?sort_order=up', None, [(('query', 'sort_order'), 'value_error', 'Must be asc or desc')]),
    ('GET', DOCUMENTS + '?sort_by=-name&sort_order=asc', None,
     [
      (('query', 'sort_order'), 'value_error',
       'sort_order goes with one field; for several, write - before each that descends'),
     ]),
    ('GET', DOCUMENTS + '?cursor=*&offset=1', None, [(('query', 'offset'), 'value_error', 'With a cursor there is no offset')]),
    ('GET', DOCUMENTS + '?cursor=x', None, [(('query', 'cursor'), 'value_error', 'Not a cursor that a page gave; * begins')]),
    ('GET', DOCUMENTS + '?populate=a,b,c,d,e,f', None,
     [(('query', 'populate'), 'value_error', 'At most 5 relations may be populated, or all of them with *')]),
    ('GET', DOCUMENTS + '?populate=a.b.c.d', None,
     [(('query', 'populate'), 'value_error', 'Relations may be populated 3 deep')]),
    ('GET', DOCUMENTS + '?name_in=a,,b', None,
     [(('query', 'name_in'), 'value_error', 'The value must not have an empty value between commas')]),
    ('GET', DOCUMENTS + '?name_in=%22a', None,
     [(('query', 'name_in'), 'value_error', 'The value must be a comma-separated list; put a value with a comma in "quotes"')]),
    ('GET', DOCUMENTS + '?count=some', None,
     [(('query', 'count'), 'value_error', 'Must be one of true, false, exact, none, estimated, capped')]),
    ('GET', '/api/collections/things/distinct', None,
     [(('query', 'field'), 'missing', 'Name the field whose values are asked for')]),
    ('GET', '/api/collections/things/distinct?field=maker.name', None,
     [(('query', 'field'), 'value_error', 'There is no such field in this collection')]),
    ('GET', '/api/collections/things/distinct?field=name&limit=5', None,
     [(('query', 'limit'), 'extra_forbidden', 'This endpoint takes field, where and filters')]),
    ('GET', '/api/collections/things/export?limit=5', None,
     [(('query', 'limit'), 'extra_forbidden', 'This endpoint takes filters only')]),
]  # fmt: skip
CONDITIONS: Rows = [
    ('POST', QUERY, {'where': []}, [(('body', 'where'), 'dict_type', 'Input should be a valid dictionary')]),
    ('POST', QUERY, {'where': {'not': {}}},
     [(('body', 'where', 'not'), 'where', 'Conditions are an object such as {"stock_gte": 1}, with at least one of them')]),
    ('POST', QUERY, {'where': {'or': []}},
     [(('body', 'where', 'or'), 'list_type', 'or takes a list of at least one object of conditions')]),
    ('POST', QUERY, {'where': {'and': [{'and': [{'and': [{'and': [{'and': [{'name_eq': 'a'}]}]}]}]}]}},
     [(('body', 'where', 'and', 0, 'and', 0, 'and', 0, 'and', 0, 'and', 0), 'too_deep', 'Conditions may be nested 5 deep')]),
    ('POST', QUERY, {'where': {'or': [{'name_eq': 'a'}] * 51}},
     [(('body', 'where'), 'too_many', 'At most 50 conditions may be combined')]),
    ('POST', QUERY, {'where': {'name_eq': None}}, [(('body', 'where', 'name_eq'), 'value_error', 'The value must be text')]),
    ('POST', QUERY, {'where': {'name_gt': True}},
     [(('body', 'where', 'name_gt'), 'value_error', 'The value must be a number or an ISO 8601 date')]),
    ('POST', QUERY, {'where': {'ok_gt': 1}},
     [
      (('body', 'where', 'ok_gt'), 'value_error',
       'The value has no order: boolean values can be compared with eq, ne and in only'),
     ]),
    ('POST', QUERY, {'where': {'stock_contains': 'a'}},
     [(('body', 'where', 'stock_contains'), 'value_error', 'The value is integer, and only text can contain text')]),
    ('POST', QUERY, {'where': {'name_contains': ''}},
     [(('body', 'where', 'name_contains'), 'value_error', 'The value must be text of at least one character')]),
    ('POST', QUERY, {'where': {'name_contains': 'a\x00'}},
     [(('body', 'where', 'name_contains'), 'value_error', 'The value must not have a NUL character')]),
    ('POST', QUERY, {'where': {'name_contains': 'a' * 257}},
     [(('body', 'where', 'name_contains'), 'value_error', 'The value must have at most 256 characters')]),
    ('POST', QUERY, {'where': {'name_in': 'a'}},
     [(('body', 'where', 'name_in'), 'value_error', 'The value must be a list of at most 500 values')]),
    ('POST', QUERY, {'where': {'tags_hasall': ['a'] * 51}},
     [(('body', 'where', 'tags_hasall'), 'value_error', 'The value must be a list of at most 50 values')]),
    ('POST', QUERY, {'where': {'nope_eq': 1}},
     [(('body', 'where', 'nope_eq'), 'value_error', 'There is no such field in this collection')]),
    ('POST', QUERY, {'where': {'nope.name_eq': 1}},
     [(('body', 'where', 'nope.name_eq'), 'value_error', 'There is no such relation in this collection')]),
    ('POST', QUERY, {'fields': ['n'] * 501},
     [(('body', 'fields'), 'too_long', 'List should have at most 500 items after validation, not 501')]),
    ('POST', QUERY, {'fields': ['nope']},
     [(('body', 'fields'), 'value_error', 'There is no such field in this collection: "nope"')]),
]  # fmt: skip
CHANGES: Rows = [
    ('PATCH', DOCUMENTS + '/' + ID, {'increment': {'name': 1}},
     [(('body', 'increment', 'name'), 'float_type', 'Not a field of numbers, which increment takes')]),
    ('PATCH', DOCUMENTS + '/' + ID, {'increment': {'nope': 1}},
     [(('body', 'increment', 'nope'), 'extra_forbidden', 'The schema declares no field of this name')]),
    ('PATCH', DOCUMENTS + '/' + ID, {'increment': {'stock': '1'}},
     [(('body', 'increment', 'stock'), 'float_type', 'Must be a number')]),
    ('PATCH', DOCUMENTS + '/' + ID, {'push': {'stock': 1}},
     [(('body', 'push', 'stock'), 'list_type', 'Not an array, which push takes')]),
    ('PATCH', DOCUMENTS + '/' + ID, {'push': {'tags': {'each': 1}}},
     [(('body', 'push', 'tags'), 'list_type', 'Must be {"each": [...]} with a list')]),
    ('PATCH', DOCUMENTS + '/' + ID, {'increment': {'any': 1}},
     [(('body', 'increment', 'any'), 'float_type', 'The stored value is no number')]),
    ('PATCH', DOCUMENTS + '/' + ID, {'push': {'any': 1}},
     [(('body', 'push', 'any'), 'list_type', 'The stored value is no array')]),
    ('PATCH', DOCUMENTS + '/' + ID, {'increment': {'any.x': 1}},
     [(('body', 'increment', 'any.x'), 'dict_type', 'The path leads through a stored value that is no object')]),
    ('PATCH', DOCUMENTS + '/' + ID, {'increment': {'list.x': 1}},
     [(('body', 'increment', 'list.x'), 'dict_type', 'The path leads through an array, whose elements have no names')]),
    ('PATCH', DOCUMENTS + '/' + ID, {'multiply': {'stock': 2 ** 62}},
     [(('body', 'multiply', 'stock'), 'finite_number', 'The result is larger than a number can be')]),
    ('PATCH', DOCUMENTS + '/' + ID, {'increment': {'stock': 1}, 'data': {'stock': 1}},
     [(('body', 'increment', 'stock'), 'repeated', 'A field, or one inside it, may be changed once')]),
    ('PATCH', DOCUMENTS + '/' + ID, {'increment': {'any.a': 1}, 'unset': ['any']},
     [(('body', 'increment', 'any.a'), 'repeated', 'A field, or one inside it, may be changed once')]),
    ('PATCH', DOCUMENTS + '/' + ID, {'where': {'stock_gte': 1}}, [(('body', 'data'), 'missing', 'Field required')]),
    ('PATCH', DOCUMENTS + '/' + ID, {'increment': {'any' + '.a' * 32: 1}},
     [
      (('body', 'increment', 'any.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a....'), 'too_deep',
       'Objects and arrays may be nested 32 deep'),
     ]),
    ('PATCH', DOCUMENTS + '/' + ID, {'add': {'tags': {'each': ['a'] * 501}}},
     [(('body', 'add', 'tags'), 'too_long', 'At most 500 elements can be compared with those of an array')]),
]  # fmt: skip
UPSERTS: Rows = [
    ('PUT', DOCUMENTS, {'data': {'sku': 'a'}}, [(('query', 'by'), 'missing', 'Field required')]),
    ('PUT', DOCUMENTS + '?by=name', {'data': {'name': 'a'}},
     [(('query', 'by'), 'value_error', 'Must be a unique field of this collection')]),
    ('PUT', DOCUMENTS + '?by=sku', {'data': {}}, [(('body', 'data', 'sku'), 'missing', 'Field required')]),
    ('PUT', DOCUMENTS + '?by=sku', {'data': {'sku': None}},
     [(('body', 'data', 'sku'), 'value_error', 'By null no document can be found')]),
    ('PUT', DOCUMENTS + '?by=sku&on_conflict=x', {'data': {'sku': 'a'}},
     [(('query', 'on_conflict'), 'enum', 'Must be one of replace, merge, ignore')]),
    ('PUT', DOCUMENTS + '?by=sku&x=1', {'data': {'sku': 'a'}},
     [(('query', 'x'), 'extra_forbidden', 'This endpoint takes only by and on_conflict')]),
    ('POST', DOCUMENTS, {'data': {'maker_id': '0' * 24}},
     [(('body', 'data', 'maker_id'), 'reference_not_found', 'There is no record with this id in makers')]),
]  # fmt: skip
BULK: Rows = [
    ('POST', UPDATE, {'where': {}, 'data': {}},
     [(('body', 'expect'), 'missing', 'Say how many documents there are, as ?dry_run=true tells')]),
    ('POST', UPDATE + '?x=1', {'where': {}, 'data': {}, 'expect': 1},
     [(('query', 'x'), 'extra_forbidden', 'This endpoint takes only dry_run and cursor')]),
    ('POST', UPDATE + '?dry_run=yes', {'where': {}, 'data': {}, 'expect': 1},
     [(('query', 'dry_run'), 'bool_parsing', 'Must be true or false')]),
    ('POST', UPDATE, {'data': {}, 'expect': 1}, [(('body', 'where'), 'missing', 'Field required')]),
    ('POST', UPDATE, {'where': {}, 'expect': 1}, [(('body', 'data'), 'missing', 'Field required')]),
    ('POST', UPDATE, {'where': {}, 'increment': {'any': 1}, 'expect': 1},
     [(('body', 'increment', 'any'), 'float_type', 'The stored value is no number (in document {id})')]),
]  # fmt: skip
BATCHES: Rows = [
    ('POST', BATCH, {'operations': [{'op': 'make'}]},
     [(('body', 'operations', 0, 'op'), 'enum', 'Must be one of create, update, replace, upsert, delete, get')]),
    ('POST', BATCH, {'operations': [{'op': 'delete', 'collection': 'users', 'id': 'a'}]},
     [(('body', 'operations', 0, 'op'), 'enum', 'users takes get and update')]),
    ('POST', BATCH, {'operations': [{'op': 'get', 'collection': 'things', 'id': 'a', 'by': 'x'}]},
     [(('body', 'operations', 0, 'by'), 'extra_forbidden', 'get takes no such field')]),
    ('POST', BATCH, {'operations': [{'op': 'create', 'collection': 'things', 'data': {}, 'as': 'a b'}]},
     [(('body', 'operations', 0, 'as'), 'value_error', "A name has 1 to 64 letters, digits, '_' or '-'")]),
    ('POST', BATCH,
     {'operations': [{'op': 'create', 'collection': 'things', 'data': {}, 'as': 'a'},
       {'op': 'create', 'collection': 'things', 'data': {}, 'as': 'a'}]},
     [(('body', 'operations', 1, 'as'), 'repeated', 'Another operation has this name')]),
    ('POST', BATCH, {'operations': [{'op': 'delete', 'collection': 'things', 'id': 'a', 'if_match': '1'}]},
     [(('body', 'operations', 0, 'if_match'), 'int_type', 'Must be a version: a whole number')]),
    ('POST', BATCH, {'operations': [{'op': 'delete', 'collection': 'things', 'id': {'$id': 'a'}}]},
     [(('body', 'operations', 0, 'id', '$id'), 'unknown_reference', 'No earlier operation creates a document of this name')]),
    ('POST', BATCH, {'operations': [{'op': 'update', 'collection': 'users', 'id': '{user}', 'unset': ['name']}]},
     [(('body', 'operations', 0, 'unset', 'name'), 'value_error', "A field of a user's data cannot be removed")]),
    ('POST', BATCH,
     {'operations': [{'op': 'update', 'collection': 'users', 'id': '{user}',
       'data': {'n': 1}, 'where': {'friend.name_eq': 'a'}}]},
     [(('body', 'operations', 0, 'where'), 'value_error', "A condition names fields of the user's own")]),
    ('POST', BATCH, {'operations': []},
     [(('body', 'operations'), 'too_short', 'List should have at least 1 item after validation, not 0')]),
    ('POST', BATCH, {'operations': [{'op': 'get'}]},
     [
      (('body', 'operations', 0, 'collection'), 'missing', 'Field required'),
      (('body', 'operations', 0, 'id'), 'missing', 'Field required'),
     ]),
]  # fmt: skip
AGGREGATIONS: Rows = [
    ('POST', AGGREGATE, {}, [(('body', 'values'), 'missing', 'An aggregation has a group, or values, or both')]),
    ('POST', AGGREGATE, {'group': []},
     [
      (('body', 'group'), 'dict_type', 'Must be an object of names'),
      (('body', 'values'), 'missing', 'An aggregation has a group, or values, or both'),
     ]),
    ('POST', AGGREGATE, {'group': {str(n): 'name' for n in range(9)}},
     [(('body', 'group'), 'too_many', 'At most 8 are allowed')]),
    ('POST', AGGREGATE, {'group': {'a': {'field': 'stock', 'step': 0}}},
     [(('body', 'group', 'a', 'step'), 'greater_than', 'Must be a number greater than 0')]),
    ('POST', AGGREGATE, {'group': {'a': {'field': 'made', 'every': 'day', 'step': 1}}},
     [(('body', 'group', 'a', 'every'), 'value_error', 'A key has buckets of dates, or of numbers')]),
    ('POST', AGGREGATE, {'group': {'a': {'field': 'made', 'timezone': 'UTC'}}},
     [(('body', 'group', 'a', 'timezone'), 'value_error', 'A time zone goes with every')]),
    ('POST', AGGREGATE, {'group': {'a': {'field': 1}}},
     [(('body', 'group', 'a', 'field'), 'string_type', 'Must be the name of a field')]),
    ('POST', AGGREGATE, {'values': {'n': 'count'}, 'sort_by': ['a'] * 9},
     [(('body', 'sort_by'), 'list_type', 'Must be a list of at most 3 names of columns')]),
    ('POST', AGGREGATE, {'values': {'n': 'count'}, 'limit': 0},
     [(('body', 'limit'), 'value_error', 'Must be a whole number from 1 to 1000')]),
    ('POST', AGGREGATE, {'values': {'n': {'sum': 'name'}}},
     [(('body', 'values', 'n'), 'value_error', 'The field is string, and only numbers have a sum')]),
    ('POST', AGGREGATE, {'group': {'a': {'field': 'name', 'each': True}}},
     [(('body', 'group', 'a'), 'value_error', 'The field is no array, so it has no elements to look at each of')]),
    ('PUT', '/api/aggregations/a', {'collection': 'things', 'aggregate': {'values': {'n': 'count'}}, 'parameters': []},
     [(('body', 'parameters'), 'dict_type', 'Must be an object such as {"year": {"type": "integer"}}')]),
    ('PUT', '/api/aggregations/a',
     {'collection': 'things', 'aggregate': {'values': {'n': 'count'}}, 'parameters': {'y': {'type': 'x'}}},
     [(('body', 'parameters', 'y'), 'enum', 'Must be {"type": ...} with one of string, integer, number, boolean, datetime')]),
    ('PUT', '/api/aggregations/a',
     {'collection': 'things', 'aggregate': {'values': {'n': 'count'}}, 'parameters': {'y': {'type': 'integer'}}},
     [(('body', 'parameters', 'y'), 'unused', 'Nothing in where or having names this parameter')]),
    ('PUT', '/api/aggregations/a',
     {'collection': 'things', 'aggregate': {'values': {'n': 'count'}},
       'parameters': {f'y{n}': {'type': 'integer'} for n in range(21)}},
     [(('body', 'parameters'), 'too_many', 'At most 20 parameters are allowed')]),
]  # fmt: skip
PARTS = {
    "query strings": QUERY_STRINGS,
    "conditions": CONDITIONS,
    "changes": CHANGES,
    "upserts": UPSERTS,
    "bulk": BULK,
    "batches": BATCHES,
    "aggregations": AGGREGATIONS,
}


@pytest.mark.parametrize("rows", PARTS.values(), ids=PARTS)
async def test_each_refusal_says_where_and_why(api: Api, rows: Rows) -> None:
    await declare(api, {"name": {"type": "string"}}, "makers")
    await declare(api, SCHEMA)
    id_ = await added(api, {"stock": 5, "tags": [], "any": "x", "list": [1]})
    user = (await api.signup()).json()["user"]["id"]

    def named(text: str) -> str:
        return text.replace(ID, id_).replace(USER, user)

    for method, path, body, expected in rows:
        sent = {} if body is None else {"json": json.loads(named(json.dumps(body)))}
        answer = await api.request(method, named(path), **sent)
        assert (answer.status_code, answer.json()["code"]) == (422, "validation_error"), (method, path, body)
        found = [(tuple(each["loc"]), each["type"], each["msg"]) for each in answer.json()["detail"]]
        assert found == [(loc, type_, named(msg)) for loc, type_, msg in expected], (method, path, body)
    assert [each["version"] for each in api.database["c_things"].find()] == [1]
