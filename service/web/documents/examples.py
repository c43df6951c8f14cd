"""Examples of documents, and what the endpoints of documents answer alike."""

from service.errors import VersionConflict
from service.web.openapi.declaration import ErrorExample
from service.web.openapi.lists import EXAMPLE_CURSOR
from service.web.openapi.shapes import EXAMPLE_ID, EXAMPLE_TIME

EXAMPLE_DATA = {"title": "Les Misérables", "in_print": True, "author_id": EXAMPLE_ID}
EXAMPLE = {
    "id": "66f0c1a2b3c4d5e6f7a8b9c2",
    "data": EXAMPLE_DATA,
    "created_at": EXAMPLE_TIME,
    "updated_at": EXAMPLE_TIME,
    "version": 1,
}
ONE = {"a book": EXAMPLE}
WRITTEN = {"a book": EXAMPLE, "one that its writer may not read": {"id": EXAMPLE["id"]}}
PAGE = {
    "a page": {"documents": [EXAMPLE], "total": 1, "limit": 50, "offset": 0},
    "a page by cursor": {"documents": [EXAMPLE], "total": None, "limit": 1, "next": EXAMPLE_CURSOR},
}
FILTERS = {"title_icontains": "les", "in_print_eq": "true"}
CONDITIONS = {
    "where": {"in_print_eq": True, "or": [{"title_startswith": "Les"}, {"author.name_eq": "Hugo"}]},
    "fields": ["title", "author.name"],
    "populate": ["author"],
    "sort_by": ["-created_at", "title"],
    "limit": 20,
    "cursor": "*",
}
CHANGES = {
    "a field": {"data": {"title": "Les Misérables"}},
    "if there is one left": {"increment": {"stock": -1}, "where": {"stock_gte": 1}},
    "operators": {"increment": {"stock": -1}, "add": {"tags": {"each": ["novel", "french"]}}, "unset": ["note"]},
}
NDJSON_LINE = (
    '{"id":"66f0c1a2b3c4d5e6f7a8b9c2","data":{"title":"Les Misérables"},"created_at":"2026-01-31T12:00:00.000Z",'
    '"updated_at":"2026-01-31T12:00:00.000Z","version":1}\n'
)
TITLE_MISSING = {"loc": ["body", "data", "title"], "msg": "Field required", "type": "missing"}
IMPORTED = {
    "one refused": {
        "created": 499,
        "updated": 0,
        "refused": 1,
        "errors": [{"line": 17, "errors": [TITLE_MISSING]}],
        "groups": [{"count": 1, "line": 17, "error": TITLE_MISSING}],
    }
}
CHANGED_MEANWHILE = ErrorExample(VersionConflict, '"v18"')
CONFORM = "`data` conforms to the collection's schema; fields that are not declared are refused."
