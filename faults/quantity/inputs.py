"""The requests: for each endpoint the largest permitted input of each kind."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from faults.quantity.groups import largest_aggregations, largest_definition
from faults.quantity.site import JSON, RELATIONS, Site
from faults.quantity.trees import largest_trees
from faults.quantity.values import DATA, encode
from faults.samples import BOUNDARY, FORM_TYPE, account, data_part, file_part, form, png
from service import bounds
from service.query.cursor import write_cursor
from service.query.parse import parse_body

USERS = "/auth-collections/users"
THINGS = "/api/collections/things/documents"
# Bytes of the request's line, and of the headers that every request has.
SPARE_BYTES = 600


@dataclass(frozen=True, slots=True)
class Input:
    """`bound` is the name in service/bounds.py of what is at its end; `status` what a permitted input is answered."""

    name: str
    bound: str
    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""
    status: tuple[int, ...] = (200, 201)


def every_input(site: Site) -> Iterator[Input]:
    """All of them, made one after the other, so that few are in memory at once."""
    # The cost of the measurement itself, on this machine at this moment.
    yield Input("nothing, to compare with", "MAX_QUERY_BYTES", "GET", "/health/live", {})
    yield from bodies(site)
    yield from queries(site)
    yield from heads(site)
    yield from forms(site)
    yield from schemas(site)
    yield from patterns(site)
    yield from relations(site)
    yield from rules(site)
    yield from aggregations(site)
    yield from writes(site)


def bodies(site: Site) -> Iterator[Input]:
    """Each kind of `data` to each endpoint that takes some."""
    token, key = site.hostile.token | JSON, site.hostile.key | JSON
    for kind, (bound, make) in DATA.items():
        value = make()
        user = encode({"data": {"value": value}})
        document = encode({"data": {"value": value}})
        yield Input(f"signup, {kind}", bound, "POST", "/auth-collections/signup", key, _signup(kind, value))
        yield Input(
            f"signup with a form, {kind}", bound, "POST", "/auth-collections/signup", _form(site), _form_of(kind, value)
        )
        yield Input(f"profile, {kind}", bound, "PUT", "/auth-collections/user", token, encode({"value": value}))
        yield Input(f"create a document, {kind}", bound, "POST", THINGS, key, document)
        yield Input(f"replace a document, {kind}", bound, "PUT", f"{THINGS}/{site.document}", key, document)
        yield Input(f"merge into a document, {kind}", bound, "PATCH", f"{THINGS}/{site.document}", key, user)
    yield Input(
        "profile, empty again", "MAX_JSON_BYTES", "PUT", "/auth-collections/user", token, encode({"value": None})
    )


def _signup(kind: str, value: Any) -> bytes:
    return encode({"email": f"{kind.replace(' ', '.')}@example.com", "password": "correct horse", "value": value})


def _form_of(kind: str, value: Any) -> bytes:
    email = f"{kind.replace(' ', '.')}.form@example.com"
    return form(data_part(encode({"email": email, "password": "correct horse", "value": value})))


def _form(site: Site) -> dict[str, str]:
    return site.hostile.key | FORM_TYPE


def queries(site: Site) -> Iterator[Input]:
    """Each kind of query, of users and of documents."""
    key = site.hostile.key
    fields = bounds.MAX_CONDITIONS
    wide = bounds.MAX_QUERY_BYTES
    for path, name in ((USERS, "users"), (THINGS, "documents")):
        some = "value" if path == THINGS else "name"
        many = [(f"{some}.k{number}", "eq") for number in range(fields)]
        conditions = "&".join(f"data.{field}_{operator}=1" for field, operator in many)
        yield Input(f"{name}, conditions", "MAX_CONDITIONS", "GET", f"{path}?{conditions}", key)
        yield Input(f"{name}, _in", "MAX_IN", "GET", f"{path}?{some}_in={_comma(wide - 40)}", key)
        text = "%61" * bounds.MAX_CONTAINS
        most = bounds.MAX_SEARCH_CHARACTERS // bounds.MAX_CONTAINS
        contains = "&".join(f"data.{some}.k{number}_icontains={text}" for number in range(most))
        yield Input(f"{name}, _icontains", "MAX_CONTAINS", "GET", f"{path}?{contains}", key)
        long = "%61" * ((wide - len(some) - 4) // 3)
        yield Input(f"{name}, query bytes", "MAX_QUERY_BYTES", "GET", f"{path}?{some}_eq={long}", key)
        yield Input(f"{name}, page", "MAX_LIMIT", "GET", f"{path}?limit={bounds.MAX_LIMIT}", key)
        order = "created_at" if path == THINGS else "-name"
        last = f"{path}?limit={bounds.MAX_LIMIT}&sort_by={order}&offset=1000"
        yield Input(f"{name}, sorted page", "MAX_LIMIT", "GET", last, key)
        populate = ",".join(RELATIONS)
        yield Input(
            f"{name}, populate", "MAX_POPULATE", "GET", f"{path}?limit=1000&populate={populate}", key, status=(200, 422)
        )
        yield Input(
            f"{name}, populate=*", "MAX_POPULATE", "GET", f"{path}?limit=1000&populate=*", key, status=(200, 422)
        )
        if path == USERS:
            counted = f"{path}?limit={bounds.MAX_COUNTING_LIMIT}&with_counts=" + ",".join(
                f"things.{each}" for each in RELATIONS
            )
            for bound in ("MAX_COUNTS", "MAX_COUNTED", "MAX_COUNTING_LIMIT"):
                yield Input(f"{name}, with_counts", bound, "GET", counted, key)
        asked = path.removesuffix("/documents") + "/query"
        chosen = [
            f"{some}{number}" if name == "users" else f"data.value.k{number}" for number in range(bounds.MAX_CHOSEN)
        ]
        body = encode({"fields": chosen, "limit": bounds.MAX_LIMIT})
        yield Input(f"{name}, chosen fields", "MAX_CHOSEN", "POST", asked, key | JSON, body)
        body = encode({"sort_by": [CURSORS[name]], "cursor": longest_cursor(CURSORS[name]), "limit": bounds.MAX_LIMIT})
        yield Input(f"{name}, cursor", "MAX_CURSOR", "POST", asked, key | JSON, body)
        for what, bound, where in largest_trees(f"data.{some}." if path == THINGS else "", RELATIONS[0]):
            body = encode({"where": where})
            yield Input(f"{name}, where {what}", bound, "POST", asked, key | JSON, body, status=(200, 422, 503))
    capped = encode({"where": {"note_icontains": "x"}, "count": "capped", "limit": 1})
    yield Input("users, capped total", "MAX_CAPPED", "POST", f"{USERS}/query", key | JSON, capped)
    yield Input("users, distinct", "MAX_DISTINCT", "GET", f"{USERS}/distinct?field=name", key)
    yield Input("users, distinct of long texts", "MAX_DISTINCT", "GET", f"{USERS}/distinct?field=note", key)
    deepest = ".".join([RELATIONS[0]] * bounds.MAX_RELATION_DEPTH)
    yield Input(
        "users, populate deep",
        "MAX_RELATION_DEPTH",
        "GET",
        f"{USERS}?limit=1000&populate={deepest}",
        key,
        status=(200, 422),
    )
    yield Input(
        "users, filter deep",
        "MAX_RELATION_DEPTH",
        "GET",
        f"{USERS}?{deepest}.name_icontains=x9",
        key,
        status=(200, 503),
    )
    related = "&".join(f"{name}.note_icontains=y" for name in RELATIONS[: bounds.MAX_RELATIONS])
    yield Input("users, filter by relations", "MAX_RELATIONS", "GET", f"{USERS}?{related}", key, status=(200, 422, 503))


# The field that each list is sorted by under the longest cursor.
CURSORS = {"users": "name", "documents": "data.value.k0"}


def longest_cursor(name: str) -> str:
    """Behind a text that is as long as a cursor can hold."""
    query = parse_body({"sort_by": [name], "cursor": "*"})
    assert query.cursor is not None
    text = "a" * (bounds.MAX_CURSOR * 3 // 4 - 60)
    return write_cursor(query.cursor.query, (("data.name", 1), ("_id", 1)), {"data": {"name": text}, "_id": "0" * 24})


def _comma(length: int) -> str:
    values = [str(number) for number in range(10, 10 + bounds.MAX_IN)]
    text = ",".join(values)
    return text if len(text) <= length else text[:length].rpartition(",")[0]


def heads(site: Site) -> Iterator[Input]:
    """Header fields and cookies, of a request that needs nothing else."""
    count = bounds.MAX_HEADERS - 5
    many = {f"x-{number}": "1" for number in range(count)}
    yield Input("headers", "MAX_HEADERS", "GET", "/health/live", many)
    long = {"x-long": "a" * (bounds.MAX_HEADER_BYTES - SPARE_BYTES)}
    yield Input("header bytes", "MAX_HEADER_BYTES", "GET", "/health/live", long)
    cookie = {"cookie": 'a="' + '\\"' * ((bounds.MAX_HEADER_BYTES - SPARE_BYTES) // 2) + '"'}
    path = f"/auth-collections/login-idp?project_id={site.hostile.project}"
    yield Input("cookie", "MAX_HEADER_BYTES", "GET", path, cookie, status=(200, 400))


def forms(site: Site) -> Iterator[Input]:
    """Signups with files."""
    files = [file_part(f"f{number}", content=png(100_000)) for number in range(bounds.MAX_FILES)]
    path = "/auth-collections/signup"
    yield Input("files", "MAX_FILES", "POST", path, _form(site), form(account("files@example.com"), *files))
    large = file_part("large", content=png(bounds.MAX_FILE_BYTES))
    yield Input("file bytes", "MAX_FILE_BYTES", "POST", path, _form(site), form(account("large@example.com"), large))
    dashes = file_part("dashes", content=png(100) + f"\r\n--{BOUNDARY[:-1]}".encode() * 200_000)
    many = form(account("parts@example.com"), *(file_part(f"p{number}") for number in range(bounds.MAX_FILES)))
    yield Input("parts", "MAX_PARTS", "POST", path, _form(site), many)
    heads = part_headers(bounds.MAX_PART_HEADERS - 2, bounds.MAX_PART_HEADER_BYTES - 20)
    headed = [heads + file_part(f"h{number}").split(b"\r\n", 1)[1] for number in range(bounds.MAX_FILES)]
    body = form(account("headed@example.com"), *headed)
    yield Input("headers of parts", "MAX_PART_HEADER_BYTES", "POST", path, _form(site), body)
    yield Input(
        "almost boundaries", "MAX_FILE_BYTES", "POST", path, _form(site), form(account("dashes@example.com"), dashes)
    )


def part_headers(count: int, length: int) -> bytes:
    """The beginning of a part: its boundary, and so many headers before those that it needs."""
    lines = (f"X-{number}: {'a' * (length - 10)}" for number in range(count))
    return f"--{BOUNDARY}\r\n".encode() + "".join(f"{line}\r\n" for line in lines).encode()


def schemas(site: Site) -> Iterator[Input]:
    """Collections with the largest schemas; each is removed again."""
    key = site.hostile.key | JSON
    declared = [*((bound, {"schema": schema}) for bound, schema in _largest_schemas()), *_largest_options()]
    for bound, declaration in declared:
        name = f"s{bound.lower().replace('_', '')}"
        body = encode({"name": name, **declaration})
        yield Input(f"schema, {bound}", bound, "POST", "/api/collections", key, body)
        if bound == "MAX_REFERENCES":
            path = f"/api/collections/{name}/documents"
            yield Input("references to nothing", bound, "POST", path, key, encode({"data": _references()}), (422,))
        types = "/api/types?language=python"
        yield Input(f"its types, {bound}", "MAX_CONTRACT_BYTES", "GET", types, site.hostile.key)
        yield Input(f"its document, {bound}", "MAX_TYPED_FILTERS", "GET", "/api/openapi.json", site.hostile.key)
        yield Input(f"remove it, {bound}", bound, "DELETE", f"/api/collections/{name}", site.hostile.key, status=(204,))


def _references() -> dict[str, list[str]]:
    """As many different ids as the arrays of one document hold."""
    arrays, most = range(bounds.MAX_INDEXES), range(bounds.MAX_REFERENCES)
    return {f"f{array}_ids": [f"{array:012}{number:012}" for number in most] for array in arrays}


def _largest_schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "MAX_FIELDS", {f"f{number}": {"type": "string"} for number in range(bounds.MAX_FIELDS)}
    yield "MAX_INDEXES", {f"f{number}": {"type": "string", "index": True} for number in range(bounds.MAX_INDEXES)}
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(bounds.MAX_SCHEMA_DEPTH - 1):
        deep = {"type": "array", "items": deep}
    yield "MAX_SCHEMA_DEPTH", {f"f{number}": deep for number in range(bounds.MAX_FIELDS // bounds.MAX_SCHEMA_DEPTH)}
    pattern = ("(?:a?){9}" * bounds.MAX_PATTERN)[: bounds.MAX_PATTERN // 9 * 9]
    yield "MAX_PATTERN", {f"f{number}": {"type": "string", "pattern": pattern} for number in range(60)}
    size = bounds.MAX_PATTERN_PROGRAM // 64 - 100
    large = {f"f{number}": {"type": "string", "pattern": rf"(?:a?){{{size // 2}}}{number}"} for number in range(60)}
    yield "MAX_PATTERN_PROGRAM", large
    values = [f"{number:0100}" for number in range(bounds.MAX_ENUM)]
    yield "MAX_ENUM", {f"f{number}": {"type": "string", "enum": values} for number in range(15)}
    arrays = {"type": "array", "items": {"type": "reference", "collection": "users"}}
    yield "MAX_REFERENCES", {f"f{number}_ids": arrays for number in range(bounds.MAX_INDEXES)}
    yield from _audited_schemas()


def _largest_options() -> Iterator[tuple[str, dict[str, Any]]]:
    """Compounds beside a schema: as many as there may be, and as many fields in each."""
    names = [f"f{number}" for number in range(bounds.MAX_COMPOUNDS + bounds.MAX_COMPOUND_FIELDS)]
    for bound, size in (("MAX_COMPOUNDS", 2), ("MAX_COMPOUND_FIELDS", int(bounds.MAX_COMPOUND_FIELDS))):
        lists = [names[start : start + size] for start in range(bounds.MAX_COMPOUNDS)]
        yield bound, {"schema": {name: {"type": "string"} for name in names}, "unique": lists, "indexes": lists}


def _audited_schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    """Schemas whose entries in the audit log are at their bounds: each option is a change, and an enum is one value."""
    options = {"type": "string", "min_length": 1, "max_length": 9, "required": True, "nullable": False}
    yield "MAX_AUDIT_CHANGES", {f"f{number}": options for number in range(bounds.MAX_FIELDS)}
    short = {"type": "string", "enum": ["x" * (bounds.MAX_AUDIT_VALUE - 10)]}
    yield "MAX_AUDIT_BYTES", {f"f{number}": short for number in range(bounds.MAX_AUDIT_CHANGES // 2)}
    yield "MAX_AUDIT_VALUE", {"f": {"type": "string", "enum": [f"{n:0500}" for n in range(bounds.MAX_ENUM)]}}


def patterns(site: Site) -> Iterator[Input]:
    """Texts that patterns take long for."""
    key, path = site.hostile.key | JSON, "/api/collections/patterns/documents"
    text = "a" * (bounds.MAX_JSON_BYTES - SPARE_BYTES)
    yield Input(
        "pattern on a long text", "MAX_PATTERN_WORK", "POST", path, key, encode({"data": {"text": text}}), (201, 422)
    )
    lists = {f"p{number}": ["a" * 2_000] * 8 for number in range(60)}
    yield Input("patterns on many texts", "MAX_PATTERN_WORK", "POST", path, key, encode({"data": lists}), (201, 422))
    wrong = {f"p{number}": list(range(800)) for number in range(60)}
    yield Input("broken rules", "MAX_VIOLATIONS", "POST", path, key, encode({"data": wrong}), (422,))
    unknown = {f"{number:0{bounds.MAX_NAME}}": 1 for number in range(bounds.MAX_NAMES - 10)}
    yield Input("unknown fields", "MAX_REFUSAL_BYTES", "POST", path, key, encode({"data": unknown}), (422,))


def relations(site: Site) -> Iterator[Input]:
    """One id as often as it may stand in an array, and what `populate` makes of it."""
    token = site.hostile.token
    # In BSON such an id takes up to 38 bytes, and the data of a user is bounded there too.
    count = min(bounds.MAX_VALUES - 10, (bounds.MAX_JSON_BYTES - SPARE_BYTES) // 40)
    body = encode({"friends_id": [site.hostile.user] * count})
    yield Input("ids in an array", "MAX_USER_BYTES", "PUT", "/auth-collections/user", token | JSON, body)
    one = f"{USERS}?id_eq={site.hostile.user}&populate="
    for populate in ("friends", "*", "friends.friends.friends"):
        yield Input(
            f"populate={populate} of them",
            "MAX_POPULATED",
            "GET",
            one + populate,
            site.hostile.key,
            status=(200, 422),
        )
    none = encode({"friends_id": None})
    yield Input("no ids again", "MAX_VALUES", "PUT", "/auth-collections/user", token | JSON, none)


def rules(site: Site) -> Iterator[Input]:
    """Access rules at their bounds, and none again."""
    key = site.hostile.key | JSON
    where: dict[str, Any] = {"value_eq": "x"}
    for _ in range(bounds.MAX_WHERE_DEPTH - 1):
        where = {"not": where}
    conditions = {f"{name}_id_ne": "$user.id" for name in RELATIONS} | {
        "value_in": [str(n) for n in range(bounds.MAX_IN)]
    }
    many = {"or": [conditions] * (bounds.MAX_RULE_CONDITIONS // (len(RELATIONS) + 1))}
    sets = {
        f"s{number}": {"from": "things", "where": {"r0_id_eq": "$user.id"}, "take": "r1_id"}
        for number in range(bounds.MAX_SETS)
    }
    roles = [f"r{number}" for number in range(bounds.MAX_ROLES)]
    test = {"as": {"id": "1" * 24, "roles": roles}, "action": "read", "collection": "things", "given": {"value": "y"}}
    tests = [{**test, "name": f"t{number}", "expect": "refused"} for number in range(bounds.MAX_RULE_TESTS)]
    quarter = {"or": [{"value_eq": str(n)} for n in range(bounds.MAX_FIELD_CONDITIONS // 4)]}
    fields = {name: {"read": quarter, "write": quarter} for name in ("value", f"{next(iter(RELATIONS))}_id")}
    for bound, own, more in (
        ("MAX_RULE_CONDITIONS", {"read": many}, {}),
        ("MAX_WHERE_DEPTH", {"read": where}, {}),
        ("MAX_TRANSITIONS", {"update": [{"before": many, "after": many}] * bounds.MAX_TRANSITIONS}, {}),
        ("MAX_FIELD_CONDITIONS", {"fields": fields}, {}),
        ("MAX_SETS", {"read": "users"}, {"sets": sets}),
        ("MAX_RULE_TESTS", {"read": many}, {"tests": tests}),
    ):
        body = encode({"collections": {"things": own}, **more})
        yield Input(f"rules, {bound}", bound, "PUT", "/api/rules", key, body)
    yield Input("no rules again", "MAX_RULE_TESTS", "PUT", "/api/rules", key, b"{}")


def writes(site: Site) -> Iterator[Input]:
    """Operators on as many fields as one change may name, and as many operations as a batch may have."""
    key, path = site.hostile.key | JSON, f"{THINGS}/{site.document}"
    elements = list(range(bounds.MAX_ELEMENTS))
    yield Input("an empty document again", "MAX_JSON_BYTES", "PUT", path, key, encode({"data": {"value": {}}}))
    many = {f"value.f{number}": 1 for number in range(bounds.MAX_OPERATIONS)}
    yield Input("operators", "MAX_OPERATIONS", "PATCH", path, key, encode({"increment": many}))
    for operator in ("push", "add", "pull"):
        body = encode({operator: {"value.list": {"each": elements}}})
        yield Input(f"elements to {operator}", "MAX_ELEMENTS", "PATCH", path, key, body)
    yield from large_documents(key, path)
    yield from filled_documents(key)
    create = {"op": "create", "collection": "things", "data": {"value": "x" * 10_000}}
    yield Input("batch", "MAX_BATCH", "POST", "/api/batch", key, encode({"operations": [create] * bounds.MAX_BATCH}))
    change = {"op": "update", "collection": "things", "id": site.document, "increment": {"value.f0": 1}}
    each = encode({"operations": [change] * bounds.MAX_BATCH, "atomic": False})
    yield Input("batch, each for itself", "MAX_BATCH", "POST", "/api/batch", key, each)


def filled_documents(key: dict[str, str]) -> Iterator[Input]:
    """Objects that lack a field, as many as their defaults may fill, and as many as a body may have."""
    count = bounds.MAX_FILLED_BYTES // 16 // 2
    item = {
        "type": "object",
        "properties": {"n": {"type": "integer", "default": 1}, "m": {"type": "any", "default": 1}},
    }
    schema = {"list": {"type": "array", "items": item}}
    yield Input(
        "defaults of objects",
        "MAX_FILLED_BYTES",
        "POST",
        "/api/collections",
        key,
        encode({"name": "filled", "schema": schema}),
    )
    for objects, allowed in ((count, (201,)), (bounds.MAX_VALUES - 10, (422,))):
        body = encode({"data": {"list": [{}] * objects}})
        yield Input(
            f"{objects} objects to fill",
            "MAX_FILLED_BYTES",
            "POST",
            "/api/collections/filled/documents",
            key,
            body,
            allowed,
        )


def large_documents(key: dict[str, str], path: str) -> Iterator[Input]:
    """Operators on an array of so many small elements as a document can have, one by one and in a transaction."""
    yield Input("an empty array again", "MAX_JSON_BYTES", "PUT", path, key, encode({"data": {"value": []}}))
    more = encode({"push": {"value": {"each": [True] * (bounds.MAX_VALUES - 10)}}})
    for number in range(4):
        yield Input(f"push, large document, part {number}", "MAX_DOCUMENT_BYTES", "PATCH", path, key, more)
    length = 4 * (bounds.MAX_VALUES - 10)
    other = list(range(bounds.MAX_COMPARISONS // (length + bounds.MAX_ELEMENTS)))
    for operator in ("add", "pull"):
        body = {operator: {"value": {"each": other}}}
        yield Input(f"{operator}, large document", "MAX_COMPARISONS", "PATCH", path, key, encode(body))
        change = {"op": "update", "collection": "things", "id": path.rpartition("/")[2], **body}
        each = encode({"operations": [change]})
        yield Input(f"{operator}, large document, in a batch", "MAX_COMPARISONS", "POST", "/api/batch", key, each)
    yield Input("an empty document once more", "MAX_JSON_BYTES", "PUT", path, key, encode({"data": {"value": {}}}))


def aggregations(site: Site) -> Iterator[Input]:
    key = site.hostile.key | JSON
    for bound, body in largest_aggregations(RELATIONS):
        # The bounds of time and memory refuse the largest aggregations, which is their purpose.
        refused = (200, 422, 503)
        yield Input(f"aggregation, {bound}", bound, "POST", f"{USERS}/aggregate", key, encode(body), refused)
    saved = encode(largest_definition())
    yield Input("saved aggregation", "MAX_AGGREGATION_BYTES", "PUT", "/api/aggregations/large", key, saved)
    yield Input("saved aggregation, parameters", "MAX_PARAMETERS", "PUT", "/api/aggregations/large", key, saved)
