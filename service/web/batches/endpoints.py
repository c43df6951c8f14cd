"""Batches over HTTP: `docs/writing.md` says what they promise."""

from dataclasses import replace
from typing import Any

from starlette.requests import Request

from service.bounds import MAX_BATCH
from service.domain.access.caller import OperatorCaller, ProjectCaller, PublishableKeyCaller, UserCaller
from service.domain.batches.steps import Done
from service.domain.idempotency import Answer, Keep
from service.domain.limits.limiter import Share
from service.domain.limits.policies import AUTH_BY_RULE, DAILY, OF_GUEST, OF_USER
from service.domain.permissions import Access
from service.domain.steps import run_in_steps
from service.errors import (
    CollectionNotFound,
    ConditionFailed,
    DocumentNotFound,
    DuplicateValue,
    Forbidden,
    Invalid,
    ServiceError,
    UserNotFound,
    VersionConflict,
)
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.auth.operators import demand
from service.web.batches.bodies import (
    Batch,
    BatchForm,
    BatchResults,
    locate,
    read_batch,
    read_kept,
    references_view,
    results_view,
)
from service.web.http.idempotency import LOC, Sent, answer_once
from service.web.http.json_body import RequestWith
from service.web.http.render import Json, write_json
from service.web.openapi.declaration import ErrorExample, Success, Tag
from service.web.openapi.endpoint import KeyUse, endpoint
from service.web.openapi.shapes import EXAMPLE_ID, EXAMPLE_TIME

LINE = {"order_id": {"$id": "o"}, "sku": "abc"}
EXAMPLE = {
    "operations": [
        {"op": "create", "collection": "orders", "as": "o", "data": {"city": "Paris"}},
        {"op": "create", "collection": "lines", "data": LINE},
        {
            "op": "update",
            "collection": "products",
            "id": EXAMPLE_ID,
            "increment": {"stock": -1},
            "where": {"stock_gte": 1},
        },
    ]
}
DOCUMENT = {
    "id": EXAMPLE_ID,
    "data": {"city": "Paris"},
    "created_at": EXAMPLE_TIME,
    "updated_at": EXAMPLE_TIME,
    "version": 1,
}
FAILED = {"status": 404, "error": {"detail": DocumentNotFound.detail, "code": DocumentNotFound.code}}


Outcomes = list[Done] | list[Done | ServiceError]


@endpoint(
    "POST /api/batch",
    operator=Access("data", "write"),
    credential=Credential.BY_RULE,
    policy=DAILY,
    tag=Tag.DOCUMENTS,
    description=f"Up to {MAX_BATCH} operations, each as it is alone, by the rules of its collection. With `atomic`, the "
    "default, all are done or none; the answer to a failure is that of the operation, with its position in `operation`. "
    "Counts as so many requests.",
    body={"an order": EXAMPLE},
    idempotency_key=KeyUse.TAKEN,
    answer=Success(
        "What came of each operation",
        {
            "done": {"results": [{"status": 201, "document": DOCUMENT}, {"status": 204}]},
            "not atomic": {"results": [{"status": 201, "document": DOCUMENT}, FAILED]},
        },
    ),
    errors=(
        CollectionNotFound,
        ConditionFailed,
        DocumentNotFound,
        UserNotFound,
        ErrorExample(DuplicateValue, "data.title"),
        Forbidden,
        ErrorExample(VersionConflict, '"v18"'),
    ),
)
async def run_batch(request: RequestWith[BatchForm], caller: ProjectCaller, services: Services) -> Json[BatchResults]:
    """Do many operations, all of them or each for itself."""
    await services.access.require_any(caller)
    writes = False

    async def run(sent: Sent, keep: "Keep[Outcomes] | None") -> Outcomes:
        nonlocal writes
        batch = await run_in_steps(caller.project.database, read_batch(sent))
        writes = batch.writes
        if keep is not None and not batch.is_atomic:
            msg = "Only an atomic batch takes an Idempotency-Key"
            raise Invalid.one(LOC, msg, type_="extra_forbidden")
        await _count(request, caller, services, batch)
        if not batch.is_atomic:
            return await services.batches.run_each(caller, batch.steps)
        try:
            return await services.batches.run_together(caller, batch.steps, keep)
        except Invalid as invalid:
            raise invalid if invalid.operation is None else locate(invalid, invalid.operation) from None

    async def review(sent: Sent, kept: Sent) -> Any:
        batch = await run_in_steps(caller.project.database, read_batch(sent))
        await _count(request, caller, services, batch)
        return results_view(await services.batches.read_again(caller, batch.steps, read_kept(kept)))

    def abridge(outcomes: Outcomes, answer: Answer) -> Answer | None:
        done = [each for each in outcomes if isinstance(each, Done)]
        return replace(answer, body=write_json(references_view(done)).decode()) if writes else None

    return await answer_once(
        request,
        caller,
        services.idempotency,
        write=run,
        abridge=abridge,
        review=review,
        render=lambda outcomes: Json(results_view(outcomes)),
    )


async def _count(request: Request, caller: ProjectCaller, services: Services, batch: Batch) -> None:
    """Counts the operations as if each were a request of its own; one is counted already. Raises LimitExceeded.

    The project's limits do not count operators, who need access to users where the batch has operations on them.
    """
    if batch.users:
        demand(caller, Access("users", "write"))
    if isinstance(caller, OperatorCaller):
        return
    state = request.scope["state"]
    shares = [_auth_share(caller, batch.users), Share(DAILY, "", len(batch.steps) - 1)]
    counted = await services.limits.count_many(caller.project, shares)
    state["quotas"] = list({each.policy.name: each for each in (*state.get("quotas", ()), *counted)}.values())


def _auth_share(caller: ProjectCaller, users: int) -> Share:
    match caller:
        case UserCaller(user_id=user_id):
            return Share(OF_USER, user_id, users)
        case PublishableKeyCaller(address=address):
            return Share(OF_GUEST, address, users)
    return Share(AUTH_BY_RULE, "", users)
