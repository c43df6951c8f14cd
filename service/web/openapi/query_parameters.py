"""The parameters of every list, from the query language's own operators and limits."""

import json

from service.bounds import (
    MAX_CAPPED,
    MAX_CHOSEN,
    MAX_CONDITIONS,
    MAX_CONTAINS,
    MAX_COUNTED,
    MAX_COUNTING_LIMIT,
    MAX_COUNTS,
    MAX_CURSOR,
    MAX_HASALL,
    MAX_IN,
    MAX_LIMIT,
    MAX_POPULATE,
    MAX_QUERY_BYTES,
    MAX_RELATION_DEPTH,
    MAX_SORT_KEYS,
)
from service.query.names import PATH, PLAIN, RELATION, SINGLE
from service.query.nodes import ListQuery
from service.query.options import COUNTED_NAME, COUNTS, MAX_OFFSET
from service.web.openapi.declaration import Parameter, Schema

DEFAULTS = ListQuery()
NUMBER = r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?"
DATE = r"[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"

SCALAR: Schema = {"type": "string", "minLength": 1}
ORDERED: Schema = {"type": "string", "pattern": f"^({NUMBER}|{DATE})$"}
TEXT: Schema = {"type": "string", "minLength": 1, "maxLength": MAX_CONTAINS, "pattern": r"^[^\x00]*$"}
LIST: Schema = {"type": "string", "pattern": r'^[^\x00-\x1f\x7f", ]+(,[^\x00-\x1f\x7f", ]+)*$'}
BOOLEAN: Schema = {"type": "string", "enum": ["true", "false"]}

# The meaning of each operator of query/operators.OPERATORS, and the texts it takes.
OPERATORS: dict[str, tuple[str, Schema]] = {
    "eq": ("equal", SCALAR),
    "ne": ("not equal, or without the field", SCALAR),
    "gt": ("greater than a number or a date", ORDERED),
    "gte": ("greater than or equal to a number or a date", ORDERED),
    "lt": ("less than a number or a date", ORDERED),
    "lte": ("less than or equal to a number or a date", ORDERED),
    "contains": ("contains the text", TEXT),
    "icontains": ("contains the text in any case", TEXT),
    "startswith": ("begins with the text", TEXT),
    "in": (f"is one of at most {MAX_IN} comma-separated values", LIST),
    "hasall": (f"is a list that has each of at most {MAX_HASALL} comma-separated values", LIST),
    "isnull": ("true: null or absent; false: present and not null", BOOLEAN),
}
SORT_KEY = rf"-?(data\.)?{PLAIN}"
SORT = rf"^{SORT_KEY}(,{SORT_KEY}){{0,{MAX_SORT_KEYS - 1}}}$"
FIELD = rf"{PLAIN}(\.{PLAIN}){{0,{MAX_RELATION_DEPTH}}}"
CURSOR = r"^(\*|[A-Za-z0-9_-]+)$"
POPULATE = rf"^(\*|{RELATION}(,{RELATION}){{0,{MAX_POPULATE - 1}}})$"


def filters(example: dict[str, str]) -> Parameter:
    """The one parameter that stands for all `<field>_<operator>=<value>`."""
    meanings = "\n".join(f"- `_{name}`: {meaning}" for name, (meaning, _) in OPERATORS.items())
    return Parameter(
        name="filters",
        description=(
            f"Any number, at most {MAX_CONDITIONS}, of `<field>_<operator>=<value>`; all must hold. The whole query string "
            f"has at most {MAX_QUERY_BYTES:,} bytes.\n\n{meanings}\n\n"
            f"`<relation>.<field>` is a field of the related record, at most {MAX_RELATION_DEPTH} relations deep; "
            "`data.<field>.<field>` is a field of a nested object."
        ),
        schema={
            "type": "object",
            "patternProperties": {f"^{PATH}_{name}$": schema for name, (_, schema) in OPERATORS.items()},
            "additionalProperties": False,
            "maxProperties": MAX_CONDITIONS,
        },
        # The form begins without a filter, so that whoever tries it sees records.
        examples={"no filter": {}, "two filters": example},
    )


CURSOR_PARAMETER = Parameter(
    name="cursor",
    description="`*` begins, and each page has the cursor of the `next` one: they neither skip nor repeat a record "
    "while others write. In place of an offset; without `count` there is no total.",
    schema={"type": "string", "maxLength": MAX_CURSOR, "pattern": CURSOR},
)


# Without an example: the page of the document would send it, and most projects have no such collection.
COUNTS_PARAMETER = Parameter(
    name="with_counts",
    description=f"At most {MAX_COUNTS} collections, separated by commas, whose records refer to these; "
    f"`<collection>.<relation>` where one does so by several fields. `counts` has the number of records that the caller "
    f"may read; {MAX_COUNTED + 1:,} stands for more than {MAX_COUNTED:,}. `limit` is at most {MAX_COUNTING_LIMIT} with it.",
    schema={"type": "string", "pattern": f"^{COUNTED_NAME.pattern}(,{COUNTED_NAME.pattern}){{0,{MAX_COUNTS - 1}}}$"},
)


def list_parameters(example: dict[str, str], populate: str) -> tuple[Parameter, ...]:
    """All parameters of a list. `example` are filters, `populate` the name of a relation."""
    own = (*_page_parameters(), *_shown_parameters(populate), COUNTS_PARAMETER, CURSOR_PARAMETER)
    return (*own, where_parameter(example), filters(example))


def _page_parameters() -> tuple[Parameter, ...]:
    return (
        Parameter(
            name="limit",
            description="Page size.",
            schema={"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULTS.limit},
        ),
        Parameter(
            name="offset",
            description="Number of records to skip.",
            schema={"type": "integer", "minimum": 0, "maximum": MAX_OFFSET, "default": DEFAULTS.offset},
        ),
        Parameter(
            name="count",
            description="What the total is to be. `false` or `none` skips it, which is faster; `capped` counts to "
            f"{MAX_CAPPED:,}; `estimated` takes the number of all records, and with a filter is capped.",
            schema={"type": "string", "enum": [*COUNTS], "default": "true"},
        ),
        Parameter(
            name="sort_by",
            description=f"Up to {MAX_SORT_KEYS} fields to sort by, separated by commas; `-` before one descends, and equals "
            "are ordered by id. Oldest first without it.",
            schema={"type": "string", "pattern": SORT},
            example="created_at",
        ),
        Parameter(
            name="sort_order",
            description="The direction of the one field.",
            schema={"type": "string", "enum": ["asc", "desc"], "default": "asc"},
        ),
    )


def _shown_parameters(populate: str) -> tuple[Parameter, ...]:
    return (
        Parameter(
            name="populate",
            description=f"At most {MAX_POPULATE} relations to expand, separated by commas and each at most "
            f"{MAX_RELATION_DEPTH} deep, or `*` for all (slow).",
            schema={"type": "string", "pattern": POPULATE},
            example=populate,
        ),
        Parameter(
            name="fields",
            description=f"At most {MAX_CHOSEN} fields of `data`, separated by commas, that are shown; `<relation>.<field>` of "
            "a populated record. All of them without it.",
            schema={"type": "string", "pattern": rf"^{FIELD}(,{FIELD})*$"},
        ),
    )


def where_parameter(filters: dict[str, str]) -> Parameter:
    """`filters` are examples, one of which searches text."""
    searches = {name: text for name, text in filters.items() if name.endswith("_icontains")}
    return Parameter(
        name="where",
        description="Conditions as JSON with typed values, which `and`, `or` and `not` join: what `POST .../query` takes. "
        "They hold beside the filters.",
        schema={"type": "string", "minLength": 2, "pattern": r"^\{"},
        examples={"all records": "{}", "not these": json.dumps({"not": searches})},
    )


def distinct_parameters(field: str, example: dict[str, str]) -> tuple[Parameter, ...]:
    """Those of `distinct`: the field, and what finds the records."""
    return (
        Parameter(
            name="field",
            description="The field whose values are asked for: of the records themselves, not of related ones.",
            schema={"type": "string", "pattern": rf"^(data(\.{SINGLE})+|{SINGLE})$"},
            example=field,
            required=True,
        ),
        where_parameter(example),
        filters(example),
    )
