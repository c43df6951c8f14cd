"""The ways in which a user can sign in, for operators: no secret is among them."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.domain.projects.lookup import Project
from service.errors import UserNotFound
from service.storage.accounts import HASH
from service.storage.factors import Factor, find_state, list_factors
from service.storage.identities import Identities, OwnIdentity


@dataclass(frozen=True, slots=True)
class SignInMeans:
    """The factors and identities of a user; `has_password` is true for one who signs in with a password."""

    has_password: bool
    factors: Sequence[Factor]
    recovery_codes: int
    identities: Sequence[OwnIdentity]


async def read_sign_in_state(project: Project, user_id: str) -> SignInMeans:
    """Raises UserNotFound."""
    database = project.database
    record, state = await project.users.find_record(user_id), await find_state(database, user_id)
    if record is None or state is None:
        raise UserNotFound
    return SignInMeans(
        has_password=HASH.match(record.get("password", "")) is not None,
        factors=await list_factors(database, user_id),
        recovery_codes=state.recovery_codes,
        identities=await Identities(database).list_of(user_id),
    )
