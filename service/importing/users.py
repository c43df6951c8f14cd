"""Users of an import: stored in batches by their ids. Present ones stay as they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from service.domain.accounts import Accounts
from service.domain.accounts.account_fields import TYPES, find_faults
from service.domain.accounts.emails import normalize_email
from service.domain.accounts.password_hashes import find_family, hash_fault
from service.domain.accounts.profile import RESERVED, check_profile
from service.domain.profiles.profiles import ProfileDraft
from service.domain.projects.lookup import Project
from service.errors import Invalid, ServiceError, Violation
from service.importing.records import TWICE, SourceUser, describe_refusal
from service.importing.report import MovingReport
from service.schema.values import now
from service.storage.account_states import AccountState
from service.storage.ids import new_id
from service.storage.users import Identity, NewUser

TARGET = "users"


@dataclass(frozen=True, slots=True)
class UserImport:
    """The project whose users are imported. `placeholder` is the domain of addresses for users that have none."""

    accounts: Accounts
    project: Project
    report: MovingReport
    placeholder: str | None = None

    async def store(self, users: Sequence[SourceUser]) -> None:
        """Stores a batch. A dry run judges it, and stores nothing."""
        counts = self.report.of(TARGET)
        counts.read += len(users)
        wanted: dict[str, SourceUser] = {}
        for user in users:
            id_ = user.record.id or new_id()
            if id_ in wanted:
                self._reject(user, [TWICE])
            else:
                wanted[id_] = user
        there = await self.project.users.find_present(list(wanted))
        counts.already_there += len(there)
        fitting: list[tuple[SourceUser, NewUser]] = []
        for id_, user in wanted.items():
            if id_ not in there and (new := await self._judge(id_, user)) is not None:
                fitting.append((user, new))
        refused = {} if self.report.dry_run else await self.project.users.insert_each([new for _, new in fitting])
        for number, (user, new) in enumerate(fitting):
            self._count(user, new, refused.get(number))

    def _count(self, user: SourceUser, new: NewUser, error: ServiceError | None) -> None:
        if error is not None:
            self._reject(user, describe_refusal(error))
            return
        self.report.of(TARGET).created += 1
        self.report.identities += len(user.identities)
        family = find_family(new.password)
        if family is None:
            self.report.without_password += 1
        else:
            self.report.hashes[family.name] += 1
        self.report.unverified += not new.state.email_verified
        if user.lost_factors:
            self.report.lose_factors(new.id)

    async def _judge(self, id_: str, user: SourceUser) -> NewUser | None:
        """The user to store; None for one that was rejected."""
        faults = list(user.record.faults) or self._find_faults(user)
        email = ""
        if not faults:
            try:
                email = normalize_email(user.email or f"{id_}@{self.placeholder}")
            except ValueError as error:
                faults = [Violation(("email",), str(error), "value_error")]
        if faults:
            self._reject(user, faults)
            return None
        try:
            draft = ProfileDraft(user.record.data, loc=("data",), knows_users=False)
            judged = await self.accounts.profiles.accept(self.project, draft)
        except Invalid as error:
            self._reject(user, error.violations)
            return None
        account = dict(user.account) if user.email else {**user.account, "email_verified": False}
        roles = tuple(dict.fromkeys(account.pop("roles", ())))
        moment = now()
        identities = [Identity(each.issuer, each.subject, each.provider, each.email) for each in user.identities]
        new = NewUser(
            email,
            self._password(user, email),
            judged.data,
            id_,
            identity=identities[0] if identities else None,
            created_at=min(user.record.created_at or moment, moment),
            state=AccountState(**account, roles=roles),
        )
        return replace(new, other_identities=tuple(identities[1:]))

    def _find_faults(self, user: SourceUser) -> list[Violation]:
        if not isinstance(user.email, str) and not (user.email is None and self.placeholder):
            return [Violation(("email",), "A user needs an address; --placeholder-email makes one", "missing")]
        named = {name: value for name, value in user.account.items() if name in TYPES}
        faults = [*find_faults(named, ()), *check_profile(user.record.data, reserved=RESERVED, loc=("data",))]
        faults += [
            Violation((name,), "Is no field of an account", "extra_forbidden")
            for name in user.account.keys() - named.keys()
        ]
        if user.password_hash is not None and not isinstance(user.password_hash, str):
            return [*faults, Violation(("password_hash",), "Must be text", "string_type")]
        is_known = user.password_hash is not None and find_family(user.password_hash) is not None
        if is_known and (fault := hash_fault(user.password_hash or "", self.project.signer_keys)):
            faults.append(Violation(("password_hash",), f"The hash {fault}", "value_error"))
        return faults

    def _password(self, user: SourceUser, email: str) -> str:
        """The hash; an address, which no password matches, for a kind of hash that nothing here verifies."""
        stored = user.password_hash
        if stored is None or find_family(stored) is not None:
            return stored or email
        self.report.lose(TARGET, "password_hash", "unsupported")
        return email

    def _reject(self, user: SourceUser, faults: Sequence[Violation]) -> None:
        self.report.reject(TARGET, user.record, faults, _as_line(user))


def _as_line(user: SourceUser) -> Mapping[str, Any]:
    """The user as a line of `import users`."""
    identities = [
        {"issuer": each.issuer, "subject": each.subject, "provider": each.provider} for each in user.identities
    ]
    record = user.record
    line = {
        "id": record.id,
        "email": user.email,
        "password_hash": user.password_hash,
        **user.account,
        "created_at": record.created_at,
        "identities": identities,
        "data": record.data,
    }
    return {name: value for name, value in line.items() if value not in (None, [])}
