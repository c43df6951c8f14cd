"""The declarations of web/rules."""

from service.errors import (
    CollectionNotFound,
    DocumentNotFound,
    RuleTestsFailed,
    SchemaChanging,
    UserNotFound,
    VersionConflict,
)
from service.web.openapi import shapes, tags
from service.web.openapi.declaration import Component, Content, Operation, Parameter, Schema, SuccessResponse
from service.web.rules.endpoints import ExplainForm

ANYTHING: Schema = {"type": "object", "additionalProperties": True}
BOOLEAN: Schema = {"type": "boolean"}
EXAMPLE = {
    "sets": {},
    "users": {"read": "users", "fields": {"data.name": {"read": "users"}}},
    "assign": {},
    "tests": [],
    "collections": {
        "notes": {
            "read": {"owner_id_eq": "$user.id"},
            "create": "users",
            "update": {"owner_id_eq": "$user.id"},
            "delete": {"owner_id_eq": "$user.id"},
            "fields": {"owner_id": {"set": "$user.id", "write": "create"}},
        }
    },
}
RULES = Component(
    "Rules",
    {
        "type": "object",
        "description": "Who may do what with the records of which collection; docs/access.md has the language.",
        "properties": {
            "sets": ANYTHING,
            "users": ANYTHING,
            "assign": ANYTHING,
            "tests": {"type": "array", "items": ANYTHING},
            "collections": ANYTHING,
        },
        "additionalProperties": False,
    },
)
ADVICE = shapes.object_of(
    collection={"type": "string"}, index={"type": "array", "items": {"type": "string"}}, because={"type": "string"}
)
SAVED = Component(
    "SavedRules",
    shapes.object_of(
        rules=RULES.ref,
        advice={"type": "array", "items": ADVICE},
        warnings={"type": "array", "items": {"$ref": "#/components/schemas/Violation"}},
    ),
)
EXPLAIN = Component("ExplainForm", ExplainForm.model_json_schema(ref_template="#/components/schemas/{model}"))
CONDITION = shapes.object_of(
    at={"type": "array", "items": {"type": ["string", "integer"]}}, wanted={}, found={}, holds=BOOLEAN
)
EXPLANATION = Component(
    "Explanation",
    {
        **shapes.object_of(allowed=BOOLEAN, because={"type": "array", "items": CONDITION}, sets=ANYTHING),
        "properties": {
            "allowed": BOOLEAN,
            "because": {"type": "array", "items": CONDITION},
            "sets": ANYTHING,
            "plan": ANYTHING,
        },
    },
)
FAILED = RuleTestsFailed([{"name": "guests see nothing", "expected": "refused", "got": "allowed"}])
ETAG = {"ETag": "The version of the rules, for If-Match"}

READ = Operation(
    id="readRules",
    tag=tags.ACCESS,
    description="An object of five empty parts where none were ever saved.",
    answers=(
        SuccessResponse(
            description="The rules as they were sent",
            content=(Content(schema=RULES, examples={"notes of one's own": EXAMPLE}),),
            headers=ETAG,
        ),
    ),
)
SAVE = Operation(
    id="saveRules",
    tag=tags.ACCESS,
    description="The whole object replaces what was there, on this worker at once, on others within five seconds. The stored "
    "tests are run first.",
    parameters=(
        Parameter(name="dry_run", description="Change nothing; tell what would come of it.", schema=BOOLEAN),
        Parameter(name="indexes", description="Build the indexes that are advised.", schema=BOOLEAN),
        Parameter(
            name="If-Match",
            location="header",
            description="Only where this is the version in force.",
            schema={"type": "string"},
        ),
    ),
    body=(Content(schema=RULES, examples={"notes of one's own": EXAMPLE}),),
    answers=(
        SuccessResponse(
            description="The rules, with advice and warnings",
            content=(Content(schema=SAVED, examples={"saved": {"rules": EXAMPLE, "advice": [], "warnings": []}}),),
            headers=ETAG,
        ),
    ),
    errors=(FAILED, SchemaChanging, VersionConflict('"3f2a"')),
)
EXPLAIN_RULES = Operation(
    id="explainRules",
    tag=tags.ACCESS,
    description="`because` has each condition of the rules that were asked, its place, and what it found.",
    body=(
        Content(
            schema=EXPLAIN,
            examples={"a guest": {"as": "anyone", "action": "read", "collection": "notes"}},
        ),
    ),
    answers=(
        SuccessResponse(
            description="The verdict",
            content=(
                Content(
                    schema=EXPLANATION,
                    examples={
                        "refused": {
                            "allowed": False,
                            "because": [{"at": ["read", "owner_id_eq"], "wanted": None, "found": None, "holds": False}],
                            "sets": {},
                        }
                    },
                ),
            ),
        ),
    ),
    errors=(CollectionNotFound, DocumentNotFound, UserNotFound),
)
