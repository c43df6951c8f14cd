"""The declarations of web/rules."""

from service.errors import (
    CollectionNotFound,
    DocumentNotFound,
    RuleTestsFailed,
    UserNotFound,
    VersionConflict,
)
from service.web.openapi import tags
from service.web.openapi.declaration import Content, ErrorExample, Operation, Parameter, Schema, SuccessResponse
from service.web.rules.bodies import AccessRules, ExplainForm, Explanation, SavedRules

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
FAILED = ErrorExample(RuleTestsFailed, [{"name": "guests see nothing", "expected": "refused", "got": "allowed"}])
ETAG = {"ETag": "The version of the rules, for If-Match"}

READ = Operation(
    id="readRules",
    tag=tags.ACCESS,
    description="An object of five empty parts where none were ever saved.",
    answers=(
        SuccessResponse(
            description="The rules as they were sent",
            content=(Content(type=AccessRules, examples={"notes of one's own": EXAMPLE}),),
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
    body=(Content(type=AccessRules, examples={"notes of one's own": EXAMPLE}),),
    answers=(
        SuccessResponse(
            description="The rules, with advice and warnings",
            content=(Content(type=SavedRules, examples={"saved": {"rules": EXAMPLE, "advice": [], "warnings": []}}),),
            headers=ETAG,
        ),
    ),
    errors=(FAILED, ErrorExample(VersionConflict, '"3f2a"')),
)
EXPLAIN_RULES = Operation(
    id="explainRules",
    tag=tags.ACCESS,
    description="`because` has each condition of the rules that were asked, its place, and what it found.",
    body=(
        Content(
            type=ExplainForm,
            examples={"a guest": {"as": "anyone", "action": "read", "collection": "notes"}},
        ),
    ),
    answers=(
        SuccessResponse(
            description="The verdict",
            content=(
                Content(
                    type=Explanation,
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
