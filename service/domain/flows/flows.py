"""Opening flows, judging their codes and tokens, spending them. What they are good for is decided by `confirmations`.

Whoever asks for a mail is answered alike, whether or not the address is somebody's: for strangers a decoy is stored, which is
like any other flow but has no mail.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import quote

from service.domain.flows.proofs import MAX_TOKEN, Proofs, hash_code, hash_token, name_account, new_proofs
from service.domain.limits.limiter import DAY, HOUR, MAILS_OF_PROJECT, Limits, Policy
from service.domain.mails.contents import Contents, seal_contents
from service.domain.mails.outbox import Outbox
from service.domain.mails.routes import give_up_after, life_of
from service.domain.projects.lookup import Project
from service.domain.projects.secrets import SecretBox
from service.errors import Invalid, InvalidCode, LimitExceeded
from service.mail.texts import ACTIONS
from service.schema.values import now
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.flows import KEPT, QUEUED, FlowStore, new_record

LINK_PATH = "/auth-collections/link"
TRIES = 5
# Within this time a second request for the same is answered as the first was, and mails nobody.
SAME_MAIL = timedelta(seconds=60)
QUARTER = 900
MAILS_AN_HOUR = Policy("mail_hour", HOUR, "mails an hour to one address", lambda _: 5)
MAILS_A_DAY = Policy("mail_day", DAY, "mails a day to one address", lambda _: 20)
# Wrong codes of an account, over all its flows; a right one does not count (NIST SP 800-63B-4 section 3.2.2).
MISTAKES = (
    Policy("mistakes", QUARTER, "wrong codes in 15 minutes for one account", lambda _: 10),
    Policy("mistakes_day", DAY, "wrong codes a day for one account", lambda _: 100),
)


@dataclass(frozen=True, slots=True)
class Purpose:
    """What somebody is to be mailed for. Without a `user_id` nobody is there, and nobody is mailed unless `is_open`.

    `to` is who is mailed, `kind` the mail where it is not named as the purpose is.
    """

    name: str
    to: str
    user_id: str | None = None
    is_open: bool = False
    locale: str | None = None
    redirect_to: str | None = None
    challenge: str | None = field(default=None, repr=False)
    has_link: bool = True


@dataclass(frozen=True, slots=True)
class Ticket:
    """What whoever asked is given: with the code of the mail it is good until then."""

    flow_id: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow that was found by its code or its token. `address` is who was mailed."""

    id: str
    project_id: str
    purpose: str
    user_id: str | None
    address: str
    account: str
    locale: str | None
    redirect_to: str | None
    challenge: str | None = field(repr=False)
    state: Document = field(default_factory=dict)


class Flows:
    """The flows of all projects. `key` is for the HMACs of codes and accounts."""

    def __init__(
        self, store: FlowStore, secret_box: SecretBox, limits: Limits, outbox: Outbox, *, key: bytes, base_url: str
    ) -> None:
        self._store = store
        self._box = secret_box
        self._limits = limits
        self._outbox = outbox
        self._key = key
        self._link = f"{base_url}{LINK_PATH}?t="

    async def open(self, project: Project, purpose: Purpose) -> Ticket:
        """Stores a flow with its mail, or a decoy; the same commands for both. A second one soon after is the first."""
        account = name_account(self._key, project.id, purpose.to)
        counted = await self._count(project, account)
        record = self.record(project, purpose, is_mailed=counted is not None)
        record |= {"slot": f"{project.id}/{purpose.name}/{account}", "slot_until": record["created_at"] + SAME_MAIL}
        stored = await self._store.open(record)
        if stored["_id"] != record["_id"]:
            for key in counted or ():
                await self._limits.give_back(key)
        self._outbox.wake()
        return Ticket(stored["_id"], stored["created_at"] + life_of(purpose.name))

    async def _count(self, project: Project, account: str) -> Sequence[str] | None:
        """The counters that a mail was taken from; None where the address, or the project, has had enough for now."""
        taken: list[str] = []
        policies = [MAILS_AN_HOUR, MAILS_A_DAY, *([MAILS_OF_PROJECT] if project.settings.mail_limit else ())]
        for policy in policies:
            try:
                of_project = policy is MAILS_OF_PROJECT
                taken.append(await self._limits.take_one(project, policy, "" if of_project else account))
            except LimitExceeded:
                return None
        return taken

    def record(self, project: Project, purpose: Purpose, *, is_mailed: bool = True) -> Document:
        """A flow to store. What is made for a stranger is made alike, and thrown away."""
        proofs, moment, account = new_proofs(), now(), name_account(self._key, project.id, purpose.to)
        is_action = purpose.name in ACTIONS
        link = f"{self._link}{quote(proofs.token)}" if purpose.has_link and is_action else ""
        sealed = seal_contents(self._box, proofs.flow_id, Contents(purpose.to, proofs.code if is_action else "", link))
        address = self._box.seal(purpose.to, _place(proofs.flow_id))
        server = self._outbox.routes.server_of(project)
        life, is_real = life_of(purpose.name), is_mailed and (purpose.is_open or purpose.user_id is not None)
        record = new_record(
            proofs.flow_id,
            project_id=project.id,
            purpose=purpose.name,
            account=account,
            created_at=moment,
            expires_at=moment + life + (give_up_after(purpose.name) if is_real and server else timedelta()),
        )
        record |= self._secrets(purpose, proofs, has_link=bool(link)) if is_action else {}
        if is_real:
            mail: Document = {"kind": purpose.name, "locale": purpose.locale, "attempts": 0, "sealed": sealed}
            mail |= {"status": QUEUED, "next_at": moment, "host": server.name} if server else {"status": KEPT}
            record |= {"user_id": purpose.user_id, "address": address, "mail": mail}
        return record

    def _secrets(self, purpose: Purpose, proofs: Proofs, *, has_link: bool) -> Document:
        found: Document = {
            "code": hash_code(self._key, proofs.flow_id, proofs.code),
            "left": TRIES,
            "redirect_to": purpose.redirect_to,
            "challenge": purpose.challenge,
        }
        return found | ({"link": hash_token(proofs.token)} if has_link else {})

    async def insert(self, project: Project, purpose: Purpose, database: ProjectDatabase) -> Ticket:
        """Stores a flow with its mail as a part of the database's transaction; `wake` when that is committed."""
        record = self.record(project, purpose)
        await self._store.insert(record, database.session)
        return Ticket(record["_id"], record["created_at"] + life_of(purpose.name))

    def wake(self) -> None:
        self._outbox.wake()

    async def find_by_code(self, project: Project, flow_id: str, code: str, purposes: Collection[str]) -> Flow:
        """The flow, whose code it is, unspent. Raises InvalidCode; LimitExceeded after too many mistakes of the account."""
        moment = now()
        match: Document = {"_id": flow_id, "project_id": project.id, "purpose": {"$in": list(purposes)}}
        record = await self._store.find(match, moment)
        if record is None:
            raise InvalidCode
        # Each try is counted as a mistake before it is judged, so that no number of them at once are too many.
        taken = [await self._limits.take_one(project, policy, record["account"]) for policy in MISTAKES]
        if not await self._store.judge(flow_id, hash_code(self._key, flow_id, code), moment):
            raise InvalidCode
        for key in taken:
            await self._limits.give_back(key)
        return self._read(record)

    async def find_by_token(self, token: str, purposes: Collection[str], project: Project | None = None) -> Flow:
        """The flow of a link. Raises InvalidCode."""
        if len(token) > MAX_TOKEN:
            raise InvalidCode
        match: Document = {"link": hash_token(token), "purpose": {"$in": list(purposes)}}
        record = await self._store.find(match | ({"project_id": project.id} if project else {}), now())
        if record is None:
            raise InvalidCode
        return self._read(record)

    async def spend(self, flow: Flow, database: ProjectDatabase) -> None:
        """Once, as part of the database's transaction. Raises InvalidCode where somebody else did."""
        if not await self._store.spend(flow.id, now(), database.session):
            raise InvalidCode

    async def void(self, user_id: str, database: ProjectDatabase, project: Project) -> None:
        """Whatever else the user was mailed a code or a link for is good for nothing from now on; notices stay."""
        match: Document = {"user_id": user_id, "project_id": project.id, "purpose": {"$in": list(ACTIONS)}}
        await self._store.void(database, match)

    def _read(self, record: Document) -> Flow:
        address = self._box.open(record["address"], _place(record["_id"])) if "address" in record else ""
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
            state=record.get("state", {}),
        )


def choose_redirect(project: Project, wanted: str | None) -> str | None:
    """One of the project's REDIRECT_URLS: the one that is wanted, else the first. Raises Invalid for any other."""
    known = project.settings.redirect_urls
    if wanted is not None and wanted not in known:
        raise Invalid.one(("body", "redirect_to"), "This is none of the project's REDIRECT_URLS")
    return wanted or next(iter(known), None)


def _place(flow_id: str) -> str:
    return f"flows/{flow_id}/address"
