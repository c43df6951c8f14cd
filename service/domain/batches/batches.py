"""Batches: operations of one caller, all in one transaction or each for itself.

Every operation goes the way that it goes alone, with the same rules. Ids are made before anything is sent, so a transaction
that meets another writer can be run again as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic

from service.domain.access.caller import ProjectCaller, SecretKeyCaller
from service.domain.accounts.directory import Directory
from service.domain.batches.room import Room
from service.domain.batches.steps import ChangeStep, CreateStep, DeleteStep, Done, GetStep, Kept, Step, UpsertStep
from service.domain.batches.users import do_user_step, read_user_again
from service.domain.cache import moment
from service.domain.documents.changes import Misfit
from service.domain.documents.documents import Create, Documents
from service.domain.documents.permits import CallersDocuments, DocumentPermits
from service.domain.documents.permitted import HiddenDocument
from service.domain.idempotency import Keep
from service.errors import RejectedByValidator, ServiceError, Unavailable
from service.schema.fields import USERS
from service.storage.client import within
from service.storage.databases import ProjectDatabase

BATCH_SECONDS = 5.0
TOO_LONG = f"The batch took longer than {BATCH_SECONDS:.0f} seconds"
ACTIONS = {CreateStep: "create", UpsertStep: "create", ChangeStep: "update", DeleteStep: "delete", GetStep: "read"}


@dataclass(frozen=True, slots=True)
class Permitted:
    """A step at its position in the batch, and the documents it is about as the caller may use them; None for users."""

    position: int
    step: Step
    documents: CallersDocuments | None


class Batches:
    """What callers do many at a time."""

    def __init__(self, documents: Documents, permits: DocumentPermits, directory: Directory) -> None:
        self._documents = documents
        self._permits = permits
        self._directory = directory

    async def run_together(
        self, caller: ProjectCaller, steps: Sequence[Step], keep: Keep[list[Done]] | None = None
    ) -> list[Done]:
        """All of `steps`, or none: in one transaction, in which `keep` is called.

        Raises what the first step that fails raises, with its position in `operation`.
        """
        began = moment()
        permitted = [await self._permit(caller, position, step, began) for position, step in enumerate(steps)]

        async def work(database: ProjectDatabase) -> list[Done]:
            done, room = list[Done](), Room()
            for run in split_runs(caller, permitted):
                room.check(run[0].position)
                some = await self._do_run(caller, run, database)
                room.take(some)
                done += some
            if keep is not None:
                await keep(database, done)
            return done

        with within(BATCH_SECONDS):
            try:
                return await caller.project.database.in_transaction(work)
            except (Misfit, RejectedByValidator) as refusal:
                await self._look_again(caller, steps, refusal)
            try:
                return await caller.project.database.in_transaction(work)
            except (Misfit, RejectedByValidator) as refusal:
                raise _located(self._documents.explain(refusal), refusal.operation or 0) from None

    async def read_again(self, caller: ProjectCaller, steps: Sequence[Step], kept: Sequence[Kept]) -> list[Done]:
        """The results `kept` of earlier `steps`, with their documents as they are now and as the caller may read them.

        Raises as `run_together` where the caller may not do a step any more, and TooLarge.
        """
        began = moment()
        permitted = [await self._permit(caller, position, step, began) for position, step in enumerate(steps)]
        done, room = list[Done](), Room()
        with within(BATCH_SECONDS):
            for step, result in zip(permitted, kept, strict=True):
                room.check(step.position)
                again = await self._read_again(caller, step, result)
                room.take([again])
                done.append(again)
        return done

    async def _read_again(self, caller: ProjectCaller, permitted: Permitted, kept: Kept) -> Done:
        if kept.id is None:
            return Done(kept.status)
        if permitted.documents is None:
            user = await read_user_again(self._directory, caller, permitted.step, kept.id)
            return Done(kept.status, user=user)
        if not kept.was_shown:
            return Done(kept.status, HiddenDocument(kept.id))
        return Done(kept.status, await permitted.documents.read_again(kept.id))

    async def run_each(self, caller: ProjectCaller, steps: Sequence[Step]) -> list[Done | ServiceError]:
        """Each of `steps` for itself, one after the other: what came of it, or why it was refused."""
        outcomes: list[Done | ServiceError] = []
        end, room = monotonic() + BATCH_SECONDS, Room()
        began = moment()
        for position, step in enumerate(steps):
            try:
                room.check(position)
                done = await self._do_alone(caller, position, step, left=end - monotonic(), began=began)
                room.take([done])
                outcomes.append(done)
            except ServiceError as error:
                outcomes.append(error.kept())
        return outcomes

    async def _do_alone(self, caller: ProjectCaller, position: int, step: Step, *, left: float, began: float) -> Done:
        if left <= 0:
            raise Unavailable(TOO_LONG)
        with within(left):
            permitted = await self._permit(caller, position, step, began)
            return await self._do(caller, permitted, caller.project.database)

    async def _permit(self, caller: ProjectCaller, position: int, step: Step, began: float) -> Permitted:
        if step.collection == USERS:
            return Permitted(position, step, None)
        action = ACTIONS[type(step)]
        try:
            return Permitted(position, step, await self._permits.permit(caller, step.collection, action, began=began))
        except ServiceError as error:
            raise _located(error, position) from None

    async def _do_run(self, caller: ProjectCaller, run: Sequence[Permitted], database: ProjectDatabase) -> list[Done]:
        """Creations of servers in one collection are one command."""
        if len(run) == 1:
            return [await self._do(caller, run[0], database)]
        creates = [Create(each.step.data, id=each.step.id) for each in run if isinstance(each.step, CreateStep)]
        project = replace(caller.project, database=database)
        try:
            documents = await self._documents.create_all(project, run[0].step.collection, creates)
        except (ServiceError, Misfit) as error:
            raise _located(error, run[error.operation or 0].position) from error.__cause__
        return [Done(201, document) for document in documents]

    async def _do(self, caller: ProjectCaller, permitted: Permitted, database: ProjectDatabase) -> Done:
        try:
            if permitted.documents is None:
                return await do_user_step(self._directory, caller, permitted.step, database)
            project = replace(caller.project, database=database)
            return await do_step(await permitted.documents.within(project), permitted.step)
        except (ServiceError, Misfit) as error:
            raise _located(error, permitted.position) from error.__cause__

    async def _look_again(
        self, caller: ProjectCaller, steps: Sequence[Step], refusal: Misfit | RejectedByValidator
    ) -> None:
        """Raises what the client is told, unless the definition that refused a step was an old one."""
        position = refusal.operation or 0
        try:
            await self._documents.look_again(caller.project, steps[position].collection, refusal)
        except ServiceError as error:
            raise _located(error, position) from None


async def do_step(documents: CallersDocuments, step: Step) -> Done:
    match step:
        case CreateStep(_, data, id_):
            return Done(201, await documents.create(data, id_=id_))
        case ChangeStep(_, id_, change, precondition):
            return Done(200, await documents.change(id_, change, precondition))
        case UpsertStep(_, upsert):
            upserted = await documents.upsert(upsert)
            return Done(201 if upserted.is_created else 200, upserted.document)
        case DeleteStep(_, id_, versions):
            await documents.delete(id_, versions)
            return Done(204)
        case GetStep(_, id_):
            return Done(200, await documents.get(id_))


def split_runs(caller: ProjectCaller, permitted: Sequence[Permitted]) -> list[list[Permitted]]:
    """The steps in their order, with creations that can be one command together; none of those names another one's id."""
    runs: list[list[Permitted]] = []
    for each in permitted:
        if runs and isinstance(caller, SecretKeyCaller) and _may_follow(runs[-1], each.step):
            runs[-1].append(each)
        else:
            runs.append([each])
    return runs


def _may_follow(run: Sequence[Permitted], step: Step) -> bool:
    first = run[0].step
    if not isinstance(first, CreateStep) or not isinstance(step, CreateStep) or first.collection != step.collection:
        return False
    return not step.refers_to or step.refers_to.isdisjoint(
        each.step.id for each in run if isinstance(each.step, CreateStep)
    )


def _located(error: ServiceError | Misfit, position: int) -> ServiceError | Misfit:
    if isinstance(error, ServiceError):
        return error.at(position)
    error.operation = position
    return error
