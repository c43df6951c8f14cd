"""Access rules over HTTP: reading, saving and explaining them. `docs/access.md` says what they mean."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from service.bounds import MAX_ROLES
from service.domain.access.administration import SavedRules
from service.domain.access.caller import SecretKeyCaller
from service.domain.access.explain import Explanation, Question
from service.web.http.json_body import read_object, validated
from service.web.http.query_flags import read_flags
from service.web.http.render import json_response
from service.web.http.services import services

SAVE_FLAGS = ("dry_run", "indexes")
# Building an index over many documents takes its time.
SAVE_ANSWER_SECONDS = 60.0


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


async def read_rules(request: Request, caller: SecretKeyCaller) -> Response:
    """Get the project's access rules."""
    found = await services(request).rules.read(caller.project)
    return json_response(found.document, headers={"etag": found.etag})


async def save_rules(request: Request, caller: SecretKeyCaller) -> Response:
    """Replace the project's access rules, or tell what a replacement would meet."""
    flags = read_flags(request, SAVE_FLAGS)
    saved = await services(request).rules.replace(
        caller.project,
        await read_object(request),
        if_match=request.headers.get("if-match"),
        dry_run=flags["dry_run"],
        build_indexes=flags["indexes"],
    )
    return json_response(saved_view(saved), headers={"etag": saved.etag})


async def explain_rules(request: Request, caller: SecretKeyCaller) -> Response:
    """Say whether the rules allow something, and why."""
    form = validated(ExplainForm, await read_object(request))
    return json_response(explanation_view(await services(request).rules.explain(caller.project, _question(form))))


def saved_view(saved: SavedRules) -> dict[str, Any]:
    advice = [
        {"collection": each.collection, "index": list(each.fields), "because": each.because} for each in saved.advice
    ]
    return {"rules": saved.document, "advice": advice, "warnings": [each.as_dict() for each in saved.warnings]}


def explanation_view(explanation: Explanation) -> dict[str, Any]:
    view = {"allowed": explanation.allowed, "because": explanation.because, "sets": explanation.sets}
    return view if explanation.plan is None else {**view, "plan": explanation.plan}


def _question(form: ExplainForm) -> Question:
    who = form.as_ if isinstance(form.as_, Principal) else Principal()
    roles = tuple(who.roles) if who.roles is not None else None
    return Question(form.action, form.collection, who.user_id, roles, form.id, form.data)
