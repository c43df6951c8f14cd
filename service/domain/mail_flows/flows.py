"""Opens flows, judges their codes and tokens, spends them. `confirmations` decides their effect.

Every request for a mail gets the same answer, whether or not the address has an account: for strangers a decoy is
stored, which is like any other flow but has no mail.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import quote

from service.domain.limits.limiter import Limits
from service.domain.mail_flows.codes import (
    MAX_TOKEN,
    Proofs,
    count_mail,
    count_mistake,
    hash_code,
    hash_token,
    name_account,
    new_proofs,
    uncount,
)
from service.domain.mail_flows.outbox import Outbox
from service.domain.mail_flows.outgoing import Contents, give_up_after, life_of, seal_contents
from service.domain.mail_flows.purposes import Flow, Purpose, Ticket
from service.domain.projects.lookup import Project, Projects
from service.domain.projects.secrets import SecretBox
from service.errors import InvalidCode
from service.mail.texts import ACTIONS
from service.schema.values import now
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.flows import KEPT, QUEUED, FlowStore, new_record

LINK_PATH = "/auth-collections/link"
TRIES = 5
# The time within which a second request for the same is answered as the first was, and sends no mail.
SAME_MAIL = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Draft:
    """A flow to store, and the counters that its mail was taken from."""

    record: Document = field(repr=False)
    taken: Sequence[str] | None

    @property
    def ticket(self) -> Ticket:
        return _ticket(self.record, self.record["purpose"])


@dataclass(frozen=True, slots=True)
class Flows:
    """The flows of all projects. `key` is for the HMACs of codes and accounts; links lead to `base_url`."""

    projects: Projects
    store: FlowStore
    secret_box: SecretBox
    limits: Limits
    outbox: Outbox
    key: bytes = field(repr=False)
    base_url: str

    async def open(self, project: Project, purpose: Purpose) -> Ticket:
        """Stores a flow with its mail, or a decoy; the same commands for both. A second one soon after is the first."""
        draft = await self.draft(project, purpose)
        ticket = await self.keep(draft)
        await self.settle(draft, ticket)
        return ticket

    async def draft(self, project: Project, purpose: Purpose) -> Draft:
        """A flow to store, counted as a mail of its address. Call `settle` afterwards, or `discard`."""
        account = name_account(self.key, project.id, purpose.to)
        counted = await count_mail(self.limits, project, account)
        record = self.record(project, purpose, is_mailed=counted is not None)
        slot = f"{project.id}/{purpose.name}/{account}{purpose.apart}"
        return Draft(record | {"slot": slot, "slot_until": record["created_at"] + SAME_MAIL}, counted)

    async def keep(self, draft: Draft, database: ProjectDatabase | None = None, *, is_first: bool = False) -> Ticket:
        """Stores the draft and returns the flow of its address and purpose: an earlier one, unless it `is_first`.

        A part of the database's transaction, if it has one.
        """
        session = database.session if database is not None else None
        stored = await self.store.open(draft.record, session, is_first=is_first)
        return _ticket(stored, draft.record["purpose"])

    async def settle(self, draft: Draft, ticket: Ticket) -> None:
        """The flow of `ticket` was stored for it."""
        if ticket.flow_id != draft.record["_id"]:
            await self.discard(draft)
        self.outbox.wake()

    async def discard(self, draft: Draft) -> None:
        """Drops a draft without a mail."""
        await uncount(self.limits, draft.taken)

    def record(self, project: Project, purpose: Purpose, *, is_mailed: bool = True) -> Document:
        """A flow to store. One for a stranger is made alike, and thrown away."""
        proofs, moment, account = new_proofs(), now(), name_account(self.key, project.id, purpose.to)
        kind = purpose.kind or purpose.name
        contents = self._contents(purpose, proofs, is_action=kind in ACTIONS)
        sealed = seal_contents(self.secret_box, proofs.flow_id, contents)
        address = self.secret_box.seal(purpose.to, _place(proofs.flow_id))
        server = self.outbox.routes.server_of(project)
        life, is_real = life_of(purpose.name), is_mailed and (purpose.is_open or purpose.user_id is not None)
        record = new_record(
            proofs.flow_id,
            project_id=project.id,
            purpose=purpose.name,
            account=account,
            created_at=moment,
            expires_at=moment + life + (give_up_after(purpose.name) if is_real and server else timedelta()),
        )
        record |= self._secrets(purpose, proofs, contents) if purpose.name in ACTIONS else {}
        if is_real:
            mail: Document = {"kind": kind, "locale": purpose.locale, "attempts": 0, "sealed": sealed}
            mail |= {"status": QUEUED, "next_at": moment, "host": server.name} if server else {"status": KEPT}
            record |= {"user_id": purpose.user_id, "address": address, "mail": mail}
        return record

    def _contents(self, purpose: Purpose, proofs: Proofs, *, is_action: bool) -> Contents:
        link = f"{self.base_url}{LINK_PATH}?t={quote(proofs.token)}" if purpose.has_link and is_action else ""
        return Contents(purpose.to, proofs.code if purpose.has_code and is_action else "", link)

    def _secrets(self, purpose: Purpose, proofs: Proofs, contents: Contents) -> Document:
        """The digests of the proofs. A link's token counts only if the mail has a link."""
        found: Document = {
            "code": hash_code(self.key, proofs.flow_id, proofs.code),
            "left": TRIES,
            "redirect_to": purpose.redirect_to,
            "challenge": purpose.challenge,
        }
        found |= {"state": purpose.state} if purpose.state else {}
        return found | ({"link": hash_token(proofs.token)} if contents.link else {})

    async def insert(self, project: Project, purpose: Purpose, database: ProjectDatabase) -> Ticket:
        """Stores a flow with its mail as a part of the database's transaction; `wake` when that is committed."""
        record = self.record(project, purpose)
        await self.store.insert(record, database.session)
        return _ticket(record, purpose.name)

    async def stand_in(self, project: Project, database: ProjectDatabase) -> None:
        """A write that takes as long as that of a new user, in place of one for an existing user.

        The record is empty, and expires by itself.
        """
        moment = now()
        record = new_record(
            new_proofs().flow_id,
            project_id=project.id,
            purpose="stand_in",
            account="",
            created_at=moment,
            expires_at=moment + SAME_MAIL,
        )
        await self.store.insert(record, database.session)

    def wake(self) -> None:
        self.outbox.wake()

    async def find(self, project: Project, flow_id: str, purposes: Collection[str]) -> Flow:
        """Raises InvalidCode."""
        record = await self.store.find(_match(project, flow_id, purposes), now())
        if record is None:
            raise InvalidCode
        return self._read(record)

    async def find_by_code(self, project: Project, flow_id: str, code: str, purposes: Collection[str]) -> Flow:
        """The flow, whose code it is, unspent. Raises InvalidCode; LimitExceeded after too many mistakes of the account."""
        moment = now()
        record = await self.store.find(_match(project, flow_id, purposes), moment)
        if record is None:
            raise InvalidCode
        # Each try is counted as a mistake before it is judged, so that no number of them at once are too many.
        taken = await count_mistake(self.limits, project, record["account"])
        if not await self.store.judge(flow_id, hash_code(self.key, flow_id, code), moment):
            raise InvalidCode
        await uncount(self.limits, taken)
        return self._read(record)

    async def find_by_token(self, token: str, purposes: Collection[str], project: Project | None = None) -> Flow:
        """The flow of a link. Raises InvalidCode."""
        if len(token) > MAX_TOKEN:
            raise InvalidCode
        match: Document = {"link": hash_token(token), "purpose": {"$in": list(purposes)}}
        record = await self.store.find(match | ({"project_id": project.id} if project else {}), now())
        if record is None:
            raise InvalidCode
        return self._read(record)

    async def spend(self, flow: Flow, database: ProjectDatabase) -> None:
        """Spends a flow once, as part of the database's transaction. Raises InvalidCode if another request did."""
        if not await self.store.spend(flow.id, now(), database.session):
            raise InvalidCode

    async def confirm_part(self, project: Project, flow_id: str, part: str, database: ProjectDatabase) -> Flow:
        """A flow that waits for several, and for `part` no longer. Raises InvalidCode where it did not."""
        match: Document = {"_id": flow_id, "project_id": project.id}
        record = await self.store.confirm_part(match, part, now(), database.session)
        if record is None:
            raise InvalidCode
        return self._read(record)

    async def void(
        self,
        user_id: str,
        database: ProjectDatabase,
        project: Project,
        *,
        purposes: Collection[str] = ACTIONS,
        keep: str = "",
    ) -> None:
        """Voids the other mailed codes and links of the user; notices stay."""
        match: Document = {"user_id": user_id, "project_id": project.id, "purpose": {"$in": list(purposes)}}
        match |= {"_id": {"$ne": keep}} if keep else {}
        await self.store.void(database, match)

    async def remove_all(self, user_id: str, database: ProjectDatabase, project: Project) -> None:
        """For the deletion of a user: notices that wait go as well, and sign-ins that wait for a factor."""
        await self.store.void(database, {"user_id": user_id, "project_id": project.id})

    def _read(self, record: Document) -> Flow:
        address = self.secret_box.open(record["address"], _place(record["_id"])) if "address" in record else ""
        return Flow(
            id=record["_id"],
            project_id=record["project_id"],
            purpose=record["purpose"],
            user_id=record.get("user_id"),
            address=address,
            account=record["account"],
            locale=record.get("mail", {}).get("locale"),
            redirect_to=record.get("redirect_to"),
            challenge=record.get("challenge"),
            expires_at=record["expires_at"],
            state=record.get("state", {}),
        )


def _match(project: Project, flow_id: str, purposes: Collection[str]) -> Document:
    return {"_id": flow_id, "project_id": project.id, "purpose": {"$in": list(purposes)}}


def _ticket(record: Document, purpose: str) -> Ticket:
    return Ticket(record["_id"], record["created_at"] + life_of(purpose))


def _place(flow_id: str) -> str:
    return f"flows/{flow_id}/address"
