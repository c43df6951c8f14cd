"""Batches: operations of one caller, all in one transaction or each for itself.

Every operation goes the way that it goes alone, with the same rules. Ids are made before anything is sent, so a transaction
that meets another writer can be run again as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from service.domain.access.caller import ProjectCaller
from service.domain.accounts import Accounts
from service.domain.batches.steps import AnswerRoom, Done, Kept, Step
from service.domain.batches.users import do_user_step, read_user_again
from service.domain.cache import moment
from service.domain.documents.documents import Documents
from service.domain.documents.reader import Engine
from service.domain.documents.writes import Create, Delete, Get, HiddenDocument, Operation, Update, Upsert
from service.domain.documents.writing import Misfit, as_client_error, look_again
from service.domain.idempotency import Keep
from service.errors import RejectedByValidator, ServiceError, Unavailable
from service.schema.fields import USERS
from service.storage.client import within
from service.storage.databases import ProjectDatabase

BATCH_SECONDS = 5.0
TOO_LONG = f"The batch took longer than {BATCH_SECONDS:.0f} seconds"
ACTIONS = {Create: "create", Upsert: "create", Update: "update", Delete: "delete", Get: "read"}


@dataclass(frozen=True, slots=True)
class Permitted:
    """A step at its position in the batch, and the documents it is about as the caller may use them; None for users."""

    position: int
    step: Step
    documents: Documents | None


@dataclass(frozen=True, slots=True)
class Batches:
    """Runs many operations of a caller at a time."""

    engine: Engine
    accounts: Accounts

    async def run_together(
        self, caller: ProjectCaller, steps: Sequence[Step], keep: Keep[list[Done]] | None = None
    ) -> list[Done]:
        """All of `steps`, or none: in one transaction, in which `keep` is called.

        Raises what the first step that fails raises, with its position in `operation`.
        """
        began = moment()
        permitted = [await self._permit(caller, position, step, began) for position, step in enumerate(steps)]

        async def work(database: ProjectDatabase) -> list[Done]:
            done, room = list[Done](), AnswerRoom()
            for run in split_runs(permitted):
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
                await _look_again(permitted, refusal)
            try:
                return await caller.project.database.in_transaction(work)
            except (Misfit, RejectedByValidator) as refusal:
                raise _located(as_client_error(refusal), refusal.operation or 0) from None

    async def read_again(self, caller: ProjectCaller, steps: Sequence[Step], kept: Sequence[Kept]) -> list[Done]:
        """The results `kept` of earlier `steps`, with their documents as they are now and as the caller may read them.

        Raises as `run_together` where the caller may not do a step any more, and TooLarge.
        """
        began = moment()
        permitted = [await self._permit(caller, position, step, began) for position, step in enumerate(steps)]
        done, room = list[Done](), AnswerRoom()
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
            user = await read_user_again(self.accounts, caller, permitted.step, kept.id)
            return Done(kept.status, user=user)
        if not kept.was_shown:
            return Done(kept.status, HiddenDocument(kept.id))
        return Done(kept.status, await permitted.documents.read_again(kept.id))

    async def run_each(self, caller: ProjectCaller, steps: Sequence[Step]) -> list[Done | ServiceError]:
        """Each of `steps` for itself, one after the other: what came of it, or why it was refused."""
        outcomes: list[Done | ServiceError] = []
        end, room = monotonic() + BATCH_SECONDS, AnswerRoom()
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
        action = ACTIONS[type(step.operation)]
        try:
            reader = await self.engine.permit(caller, step.collection, action, began=began)
        except ServiceError as error:
            raise _located(error, position) from None
        return Permitted(position, step, Documents(reader))

    async def _do_run(self, caller: ProjectCaller, run: Sequence[Permitted], database: ProjectDatabase) -> list[Done]:
        """Creations in one collection by a caller who may create everything there are one command."""
        first = run[0].documents
        if len(run) == 1 or first is None:
            return [await self._do(caller, run[0], database)]
        creates = [create for each in run if isinstance(create := each.step.operation, Create)]
        try:
            documents = await (await first.within(database)).create_all(creates)
        except (ServiceError, Misfit) as error:
            raise _located(error, run[error.operation or 0].position) from error.__cause__
        return [Done(201, document) for document in documents]

    async def _do(self, caller: ProjectCaller, permitted: Permitted, database: ProjectDatabase) -> Done:
        try:
            if permitted.documents is None:
                return await do_user_step(self.accounts, caller, permitted.step, database)
            return await do_operation(await permitted.documents.within(database), permitted.step.operation)
        except (ServiceError, Misfit) as error:
            raise _located(error, permitted.position) from error.__cause__


async def _look_again(permitted: Sequence[Permitted], refusal: Misfit | RejectedByValidator) -> None:
    """Raises the client's error, unless the definition that refused a step was an old one."""
    position = refusal.operation or 0
    documents = permitted[position].documents
    try:
        if documents is None:
            raise as_client_error(refusal)
        await look_again(await documents.reader.target(), refusal)
    except ServiceError as error:
        raise _located(error, position) from None


async def do_operation(documents: Documents, operation: Operation) -> Done:
    match operation:
        case Create(data, id=id_):
            return Done(201, await documents.create(data, id_=id_))
        case Update(id_, change, precondition):
            return Done(200, await documents.change(id_, change, precondition))
        case Upsert():
            upserted = await documents.upsert(operation)
            return Done(201 if upserted.is_created else 200, upserted.document)
        case Delete(id_, versions):
            await documents.delete(id_, versions)
            return Done(204)
        case Get(id_):
            return Done(200, await documents.get(id_))


def split_runs(permitted: Sequence[Permitted]) -> list[list[Permitted]]:
    """The steps in their order, with creations that can be one command together; none of those names another one's id."""
    runs: list[list[Permitted]] = []
    for each in permitted:
        if runs and _may_follow(runs[-1], each.step):
            runs[-1].append(each)
        else:
            runs.append([each])
    return runs


def _may_follow(run: Sequence[Permitted], step: Step) -> bool:
    first, documents = run[0].step, run[0].documents
    if documents is None or not documents.permissions.creates_freely:
        return False
    if not isinstance(first.operation, Create) or not isinstance(step.operation, Create):
        return False
    return first.collection == step.collection and step.refers_to.isdisjoint(each.step.operation.id for each in run)


def _located(error: ServiceError | Misfit, position: int) -> ServiceError | Misfit:
    if isinstance(error, ServiceError):
        return error.at(position)
    error.operation = position
    return error
