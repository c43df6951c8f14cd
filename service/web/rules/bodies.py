"""Bodies and answers of the endpoints of access rules."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from service.bounds import MAX_ROLES
from service.domain.access.administration import SavedRules as Saved
from service.domain.access.explain import Explanation as Verdict
from service.domain.access.explain import Question
from service.web.openapi.failures import BrokenRule


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
