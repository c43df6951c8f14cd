"""The JSON Schemas of what every endpoint shares: ids, times, free-form data, the user record."""

from typing import Any

from service.bounds import MAX_DEPTH, MAX_LIMIT, MAX_NAME
from service.query.parse import MAX_OFFSET
from service.schema.strict_json import INT64_MAX, INT64_MIN
from service.web.openapi.declaration import Component, Schema

ID: Schema = {"type": "string", "pattern": "^[0-9a-f]{24}$", "examples": ["66f0c1a2b3c4d5e6f7a8b9c0"]}
TIME: Schema = {"type": "string", "format": "date-time", "examples": ["2026-01-31T12:00:00.000Z"]}
EMAIL: Schema = {"type": "string", "format": "email", "examples": ["ann@example.com"]}
WHOLE: Schema = {"type": "integer", "minimum": 0}

FIELD_NAME: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_NAME,
    "pattern": r"^[^$.\x00-\x1f\x7f][^.\x00-\x1f\x7f]*$",
}
DATA = Component(
    "Data",
    {
        "type": "object",
        "description": f"Free-form fields. Names have 1 to {MAX_NAME} characters, no control character and no '.', and do"
        f" not begin with '$'; objects and arrays are nested at most {MAX_DEPTH} deep.",
        "propertyNames": FIELD_NAME,
        "additionalProperties": {"$ref": "#/components/schemas/Value"},
    },
)
VALUE = Component(
    "Value",
    {
        "description": "Any JSON value; an integer fits in 64 bits.",
        "anyOf": [
            {"type": "null"},
            {"type": "boolean"},
            {"type": "integer", "minimum": INT64_MIN, "maximum": INT64_MAX},
            {"type": "number"},
            {"type": "string"},
            {"type": "array", "items": {"$ref": "#/components/schemas/Value"}},
            DATA.ref,
        ],
    },
)


def object_of(**properties: Any) -> dict[str, Any]:
    """The schema of an object with exactly these fields, all of them present."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def page_of(name: str, record: Component) -> Component:
    """The schema of a list's answer, `{<name>: [...], total, limit, offset}`."""
    total = {"type": ["integer", "null"], "minimum": 0, "description": "How many match; null with count=false"}
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}
    offset = {"type": "integer", "minimum": 0, "maximum": MAX_OFFSET}
    records = {"type": "array", "items": record.ref}
    return Component(record.name + "List", object_of(**{name: records}, total=total, limit=limit, offset=offset))


EXAMPLE_ID = "66f0c1a2b3c4d5e6f7a8b9c0"
EXAMPLE_TIME = "2026-01-31T12:00:00.000Z"
EXAMPLE_USER = {
    "id": EXAMPLE_ID,
    "email": "ann@example.com",
    "data": {"name": "Ann", "age": 33, "referred_by_id": "66f0c1a2b3c4d5e6f7a8b9c1"},
    "created_at": EXAMPLE_TIME,
}
USER = Component("User", object_of(id=ID, email=EMAIL, data=DATA.ref, created_at=TIME))
PROFILE = Component("Profile", object_of(id=ID, email=EMAIL, data=DATA.ref, created_at=TIME, updated_at=TIME))
USERS = page_of("users", USER)
SIGNED_IN = Component(
    "SignedIn",
    object_of(access_token={"type": "string"}, token_type={"const": "bearer", "type": "string"}, user=USER.ref),
)
SHARED = (DATA, VALUE, USER)
