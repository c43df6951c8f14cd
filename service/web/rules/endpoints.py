"""Access rules over HTTP: reading, saving and explaining them. `docs/access.md` says what they mean."""

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import SecretKeyCaller
from service.services import Services
from service.web.http.json_body import read_object, validated
from service.web.http.query_flags import read_flags
from service.web.http.render import json_response
from service.web.rules.bodies import ExplainForm, explanation_view, rules_view, saved_view

SAVE_FLAGS = ("dry_run", "indexes")
# Building an index over many documents takes its time.
SAVE_ANSWER_SECONDS = 60.0


async def read_rules(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Get the project's access rules."""
    found = await services.rules.read(caller.project)
    return json_response(rules_view(found), headers={"etag": found.etag})


async def save_rules(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Replace the project's access rules, or tell what a replacement would meet."""
    flags = read_flags(request, SAVE_FLAGS)
    saved = await services.rules.replace(
        caller.project,
        await read_object(request),
        if_match=request.headers.get("if-match"),
        dry_run=flags["dry_run"],
        build_indexes=flags["indexes"],
    )
    return json_response(saved_view(saved), headers={"etag": saved.etag})


async def explain_rules(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Say whether the rules allow something, and why."""
    form = validated(ExplainForm, await read_object(request))
    return json_response(explanation_view(await services.rules.explain(caller.project, form.question())))
