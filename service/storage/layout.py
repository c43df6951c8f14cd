"""The table of parts: each MongoDB collection of a project's database, with its indexes and its place in copies.

A new collection of a project needs a row here; a test compares the rows with the collections that a project in full
use has.
"""

from dataclasses import dataclass

from pymongo import ASCENDING, IndexModel

from service.storage.files.stored import CHUNKS, FILE_INDEXES, FILES

USERS = "users"
KEPT_ANSWERS = "kept_answers"
SESSIONS = "sessions"
EVENTS = "events"
INTENTS = "uploads"
MIGRATIONS = "migrations"
COLLECTIONS = "collections"
PROFILE = "profile"
RULES = "rules"
AGGREGATIONS = "aggregations"
# The parts that a copy without records has.
DEFINITIONS = frozenset({COLLECTIONS, PROFILE, RULES, AGGREGATIONS})
# The beginning of the name of a MongoDB collection with documents.
DOCUMENTS = "c_"

# The hashes of other programs begin with $argon2, $fbscrypt$, $pbkdf2- or $scrypt$; an address may, too.
FOREIGN_HASH = {"password": {"$gte": "$a", "$lt": "$t"}}
USER_INDEXES = (
    # Anonymous users lack an address.
    IndexModel(
        [("email", ASCENDING)], name="address", unique=True, partialFilterExpression={"email": {"$exists": True}}
    ),
    # Sorts all users by their addresses, which a partial index cannot.
    IndexModel([("email", ASCENDING), ("_id", ASCENDING)], name="email_id"),
    # Finds the anonymous users that were not used for long.
    IndexModel([("active_on", ASCENDING)], name="anonymous", partialFilterExpression={"anonymous": {"$exists": True}}),
    # One key for each identity of a user, and no two users with the same one.
    IndexModel(
        [("identities.issuer", ASCENDING), ("identities.subject", ASCENDING)],
        name="identities",
        unique=True,
        sparse=True,
    ),
    # Finds who signed in before there were identities. Not unique: two providers may use one subject.
    IndexModel(
        [("oauth_id", ASCENDING), ("_id", ASCENDING)],
        name="subject",
        partialFilterExpression={"oauth_id": {"$exists": True}},
    ),
    # Finds the owner of the passkey in a sign-in without a name.
    IndexModel(
        [("passkeys.id", ASCENDING)],
        name="passkeys",
        unique=True,
        partialFilterExpression={"passkeys.id": {"$exists": True}},
    ),
    # Tells at once that no hash but bcrypt's is left; it has the users with another one.
    IndexModel([("password", ASCENDING)], name="foreign_hashes", partialFilterExpression=FOREIGN_HASH),
    IndexModel([("created_at", ASCENDING), ("_id", ASCENDING)], name="created_at"),
    # Serves equality, ranges, lists and relation ids on any field of the free-form data.
    IndexModel([("data.$**", ASCENDING)], name="data"),
)
KEPT_ANSWER_INDEXES = (IndexModel([("expires", ASCENDING)], name="expires", expireAfterSeconds=0),)
SESSION_INDEXES = (
    IndexModel([("user_id", ASCENDING), ("created_at", ASCENDING)], name="user_id"),
    IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
)
EVENT_INDEXES = (
    IndexModel([("at", ASCENDING), ("_id", ASCENDING)], name="at"),
    IndexModel([("user_id", ASCENDING), ("at", ASCENDING), ("_id", ASCENDING)], name="user_id"),
    IndexModel([("type", ASCENDING), ("at", ASCENDING), ("_id", ASCENDING)], name="type"),
    IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
)
# Those of every collection of documents; its schema and rules ask for more.
DOCUMENT_INDEXES = (
    IndexModel([("created_at", ASCENDING), ("_id", ASCENDING)], name="created_at"),
    IndexModel([("data.$**", ASCENDING)], name="data"),
)


@dataclass(frozen=True, slots=True)
class Part:
    """One collection of a project's database, or all whose names begin with `name`.

    A part without `in_backups` is left out of backups, and one without `in_moves` does not follow a project to another
    database.
    """

    name: str
    indexes: tuple[IndexModel, ...] = ()
    is_prefix: bool = False
    in_backups: bool = True
    in_moves: bool = True

    def covers(self, collection: str) -> bool:
        """True if the MongoDB collection is this part, or one of its collections."""
        return collection.startswith(self.name) if self.is_prefix else collection == self.name


PARTS = (
    Part(USERS, USER_INDEXES),
    Part(KEPT_ANSWERS, KEPT_ANSWER_INDEXES, in_backups=False),
    Part(SESSIONS, SESSION_INDEXES),
    Part(EVENTS, EVENT_INDEXES),
    Part(FILES, FILE_INDEXES[FILES]),
    Part(CHUNKS, FILE_INDEXES[CHUNKS]),
    Part(INTENTS, in_backups=False),
    Part(COLLECTIONS),
    Part(PROFILE),
    Part(RULES),
    Part(AGGREGATIONS),
    Part(MIGRATIONS, in_backups=False),
    Part(DOCUMENTS, DOCUMENT_INDEXES, is_prefix=True),
    # A closed collection before it takes the place of a deleted one, and copies that an earlier version made.
    Part("closed_", is_prefix=True, in_backups=False, in_moves=False),
    Part("scratch_", is_prefix=True, in_backups=False, in_moves=False),
)


def find_part(collection: str) -> Part | None:
    """The row of a MongoDB collection; None where the service made none of that name."""
    return next((part for part in PARTS if part.covers(collection)), None)


def is_in_backups(collection: str) -> bool:
    """True if the records of the collection are a member of a backup."""
    part = find_part(collection)
    return part is not None and part.in_backups
