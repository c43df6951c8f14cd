"""Access rules over HTTP: reading, saving and explaining them. `docs/access.md` says what they mean."""

from functools import partial
from typing import Annotated, Any, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from typing_extensions import TypedDict

from service.bounds import MAX_ROLES
from service.domain.access.administration import RulesState as Saved
from service.domain.access.administration import find_saved
from service.domain.access.caller import SecretKeyCaller
from service.domain.access.explain import ExplainedDecision as Verdict
from service.domain.access.explain import Question
from service.domain.limits.policies import DAILY
from service.domain.permissions import Access
from service.errors import CollectionNotFound, DocumentNotFound, RuleTestsFailed, UserNotFound, VersionConflict
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.http.json_body import RequestWith, read_form, read_object
from service.web.http.query_values import read_flags
from service.web.http.render import Json
from service.web.openapi.declaration import TEXT, ErrorExample, Parameter, Schema, Success, Tag
from service.web.openapi.endpoint import KeyUse, endpoint
from service.web.openapi.failures import BrokenRule

SAVE_FLAGS = ("dry_run", "indexes")
# Building an index over many documents takes its time.
SAVE_ANSWER_SECONDS = 60.0
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
OWN_NOTES = {"notes of one's own": EXAMPLE}
FAILED = ErrorExample(RuleTestsFailed, [{"name": "guests see nothing", "expected": "refused", "got": "allowed"}])
ETAG = {"ETag": "The version of the rules, for If-Match"}

by_server = partial(endpoint, credential=Credential.API_KEY, policy=DAILY, tag=Tag.ACCESS)


class AccessRules(TypedDict, total=False):
    """Who may do what with the records of which collection; docs/access.md has the language."""

    sets: dict[str, Any]
    users: dict[str, Any]
    assign: dict[str, Any]
    tests: list[dict[str, Any]]
    collections: dict[str, Any]


class IndexAdvice(TypedDict):
    collection: str
    index: list[str]
    because: str


class SavedRules(TypedDict):
    rules: AccessRules
    advice: list[IndexAdvice]
    warnings: list[BrokenRule]


class Principal(BaseModel):
    """A user, or somebody with these roles."""

    model_config = ConfigDict(strict=True, extra="forbid")

    user_id: str | None = None
    roles: Annotated[list[str], Field(max_length=MAX_ROLES)] | None = None


class ExplainForm(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    as_: Principal | Literal["anyone"] = Field(alias="as")
    action: Literal["read", "create", "update", "delete"]
    collection: str
    id: str | None = None
    data: dict[str, Any] | None = None

    def question(self) -> Question:
        who = self.as_ if isinstance(self.as_, Principal) else Principal()
        roles = tuple(who.roles) if who.roles is not None else None
        return Question(self.action, self.collection, who.user_id, roles, self.id, self.data)


class JudgedCondition(TypedDict):
    at: list[str | int]
    wanted: Any
    found: Any
    holds: bool


class Explanation(TypedDict):
    allowed: bool
    because: list[JudgedCondition]
    sets: dict[str, Any]
    plan: NotRequired[dict[str, Any]]


def saved_view(saved: Saved) -> SavedRules:
    advice: list[IndexAdvice] = [
        {"collection": each.collection, "index": list(each.fields), "because": each.because} for each in saved.advice
    ]
    warnings: list[BrokenRule] = [
        {"loc": list(each.loc), "msg": each.msg, "type": each.type} for each in saved.warnings
    ]
    return {"rules": rules_view(saved), "advice": advice, "warnings": warnings}


def rules_view(saved: Saved) -> AccessRules:
    document = saved.document
    return {
        "sets": document["sets"],
        "users": document["users"],
        "assign": document["assign"],
        "tests": document["tests"],
        "collections": document["collections"],
    }


def explanation_view(verdict: Verdict) -> Explanation:
    because: list[JudgedCondition] = [
        {"at": each["at"], "wanted": each["wanted"], "found": each["found"], "holds": each["holds"]}
        for each in verdict.because
    ]
    view: Explanation = {"allowed": verdict.allowed, "because": because, "sets": verdict.sets}
    return view if verdict.plan is None else {**view, "plan": verdict.plan}


@by_server(
    "GET /api/rules",
    operator=Access("schema", "read"),
    description="An object of five empty parts where none were ever saved.",
    answer=Success("The rules as they were sent", OWN_NOTES, ETAG),
)
async def read_rules(request: Request, caller: SecretKeyCaller, services: Services) -> Json[AccessRules]:
    """Get the project's access rules."""
    found = await find_saved(caller.project)
    return Json(rules_view(found), {"etag": found.etag})


@by_server(
    "PUT /api/rules",
    operator=Access("schema", "write"),
    description="The whole object replaces what was there, on this worker at once, on others within five seconds. The stored "
    "tests are run first.",
    parameters=(
        Parameter(name="dry_run", description="Change nothing; tell what would come of it.", schema=BOOLEAN),
        Parameter(name="indexes", description="Build the indexes that are advised.", schema=BOOLEAN),
        Parameter(
            name="If-Match", location="header", description="Only where this is the version in force.", schema=TEXT
        ),
    ),
    body=OWN_NOTES,
    answer=Success(
        "The rules, with advice and warnings", {"saved": {"rules": EXAMPLE, "advice": [], "warnings": []}}, ETAG
    ),
    errors=(FAILED, ErrorExample(VersionConflict, '"3f2a"')),
    answer_seconds=SAVE_ANSWER_SECONDS,
)
async def save_rules(
    request: RequestWith[AccessRules], caller: SecretKeyCaller, services: Services
) -> Json[SavedRules]:
    """Replace the project's access rules, or tell what a replacement would meet."""
    flags = read_flags(request, SAVE_FLAGS)
    saved = await services.rules.replace(
        caller.project,
        await read_object(request),
        if_match=request.headers.get("if-match"),
        dry_run=flags["dry_run"],
        build_indexes=flags["indexes"],
    )
    return Json(saved_view(saved), {"etag": saved.etag})


@by_server(
    "POST /api/rules/explain",
    operator=Access("schema", "read"),
    description="`because` has each condition of the rules that were asked, its place, and what it found.",
    body={"a guest": {"as": "anyone", "action": "read", "collection": "notes"}},
    idempotency_key=KeyUse.IGNORED,
    answer=Success(
        "The verdict",
        {
            "refused": {
                "allowed": False,
                "because": [{"at": ["read", "owner_id_eq"], "wanted": None, "found": None, "holds": False}],
                "sets": {},
            }
        },
    ),
    errors=(CollectionNotFound, DocumentNotFound, UserNotFound),
)
async def explain_rules(
    request: RequestWith[ExplainForm], caller: SecretKeyCaller, services: Services
) -> Json[Explanation]:
    """Say whether the rules allow something, and why."""
    form = await read_form(request)
    return Json(explanation_view(await services.rules.explain(caller.project, form.question())))
