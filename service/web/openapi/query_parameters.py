"""The parameters of every list, from the query language's own operators and limits."""

from service.bounds import (
    MAX_CONDITIONS,
    MAX_CONTAINS,
    MAX_HASALL,
    MAX_IN,
    MAX_LIMIT,
    MAX_POPULATE,
    MAX_QUERY_BYTES,
    MAX_RELATION_DEPTH,
)
from service.query.names import NAME, PATH, RELATION
from service.query.nodes import ListQuery
from service.query.parse import MAX_OFFSET
from service.web.openapi.declaration import Parameter, Schema

DEFAULTS = ListQuery()
NUMBER = r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?"
DATE = r"[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"

SCALAR: Schema = {"type": "string", "minLength": 1}
ORDERED: Schema = {"type": "string", "pattern": f"^({NUMBER}|{DATE})$"}
TEXT: Schema = {"type": "string", "minLength": 1, "maxLength": MAX_CONTAINS, "pattern": r"^[^\x00]*$"}
LIST: Schema = {"type": "string", "pattern": r'^[^\x00-\x1f\x7f", ]+(,[^\x00-\x1f\x7f", ]+)*$'}
BOOLEAN: Schema = {"type": "string", "enum": ["true", "false"]}

# What each operator of query/operators.OPERATORS means, and the texts it takes.
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


def list_parameters(example: dict[str, str], populate: str) -> tuple[Parameter, ...]:
    """All parameters of a list. `example` are filters, `populate` the name of a relation."""
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
            description="`false` skips computing the total, which is faster.",
            schema={"type": "boolean", "default": DEFAULTS.count},
        ),
        Parameter(
            name="sort_by",
            description="The field to sort by; equals are ordered by id. Oldest first without it.",
            schema={"type": "string", "pattern": rf"^(data\.)?{NAME}$"},
            example="created_at",
        ),
        Parameter(
            name="sort_order",
            description="The direction.",
            schema={"type": "string", "enum": ["asc", "desc"], "default": "asc"},
        ),
        Parameter(
            name="populate",
            description=f"At most {MAX_POPULATE} relations to expand, separated by commas and each at most "
            f"{MAX_RELATION_DEPTH} deep, or `*` for all (slow).",
            schema={"type": "string", "pattern": POPULATE},
            example=populate,
        ),
        Parameter(
            name="where",
            description="Conditions as JSON with typed values, which `and`, `or` and `not` join: what `POST .../query` takes. "
            "They hold beside the filters.",
            schema={"type": "string", "minLength": 2, "pattern": r"^\{"},
            example='{"or": [{"' + next(iter(example)) + '": "a"}]}',
        ),
        filters(example),
    )
