"""The indexes of operators, their sessions, tokens and invitations, all of which are in the system's database."""

from pymongo import ASCENDING, IndexModel

from service.storage.databases import Databases
from service.storage.records import translated

OPERATORS, SESSIONS = "operators", "operator_sessions"
TOKENS, INVITATIONS = "operator_tokens", "operator_invitations"
ACTING = "operator_acting"
OF_OPERATOR = IndexModel([("operator_id", ASCENDING)], name="operator_id")


def _expiry(field: str) -> IndexModel:
    """Only cleans up: each read compares the stored time with MongoDB's clock."""
    return IndexModel([(field, ASCENDING)], name=field, expireAfterSeconds=0)


INDEXES = {
    OPERATORS: [IndexModel([("email", ASCENDING)], name="email", unique=True)],
    SESSIONS: [OF_OPERATOR, _expiry("expires_at")],
    TOKENS: [OF_OPERATOR, _expiry("purge_at")],
    INVITATIONS: [OF_OPERATOR, _expiry("expires_at")],
    ACTING: [OF_OPERATOR, IndexModel([("session", ASCENDING)], name="session"), _expiry("expires_at")],
}


async def ensure_operator_indexes(databases: Databases) -> None:
    with translated():
        for collection, indexes in INDEXES.items():
            await databases.system[collection].create_indexes(indexes)
