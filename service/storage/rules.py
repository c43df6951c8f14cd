"""A project's access rules: one record {_id: "rules", version, schemas, text} in a collection of its own.

The document is kept as JSON text, for its keys are no names of MongoDB's. `version` tells one
state of the rules from every other; `schemas` changes with every schema that they were checked against.
"""

import json
import secrets
from dataclasses import dataclass

from service.storage.collections import NAMESPACE_EXISTS, run_unless
from service.storage.databases import ProjectDatabase
from service.storage.records import translated

RULES = "rules"
NOTHING = "{}"


@dataclass(frozen=True, slots=True)
class StoredRules:
    """The JSON of the document as it was sent, its version, and that of the schemas beneath it."""

    version: str
    text: str
    schemas: str = ""

    @property
    def revision(self) -> str:
        """Identifies the meaning of these rules: their version and that of the schemas they are about."""
        return f"{self.version}.{self.schemas}"

    @property
    def are_empty(self) -> bool:
        return self.text == NOTHING

    @property
    def sources(self) -> frozenset[str]:
        """The declared collections that sets take their values from, `users` among them."""
        return frozenset(each["from"] for each in json.loads(self.text).get("sets", {}).values())


# The stored rules of a project that never saved any.
NEVER_SAVED = StoredRules("0", NOTHING)


async def ensure_rules(database: ProjectDatabase) -> None:
    """Makes the collection of the rules, before a transaction writes the first.

    MongoDB (6.0) shows others a collection made by a transaction a moment later than the transaction's other writes:
    another transaction could see those, and no rules.
    """
    with translated("prepare the rules"):
        await run_unless(NAMESPACE_EXISTS, database.database, {"create": RULES})


async def find_rules(database: ProjectDatabase) -> StoredRules:
    found = await database.records(RULES).find({"_id": RULES})
    return NEVER_SAVED if found is None else StoredRules(found["version"], found["text"], found.get("schemas", ""))


async def find_revision(database: ProjectDatabase) -> str:
    """The revision of the stored rules, without their text."""
    rows = await database.records(RULES).aggregate(
        [{"$match": {"_id": RULES}}, {"$project": {"version": 1, "schemas": 1}}], size=1
    )
    return (
        StoredRules(rows[0]["version"], NOTHING, rows[0].get("schemas", "")).revision if rows else NEVER_SAVED.revision
    )


async def put_rules(database: ProjectDatabase, text: str) -> StoredRules:
    """Stores the document in the place of the one there was."""
    stored = StoredRules(_new_version(), text, _new_version())
    record = {"_id": RULES, "version": stored.version, "schemas": stored.schemas, "text": text}
    await database.records(RULES).put(record)
    return stored


async def note_schema(database: ProjectDatabase) -> None:
    """A schema is another one from now on, and the rules that are stored were checked against it."""
    await database.records(RULES).update_one({"_id": RULES}, {"$set": {"schemas": _new_version()}})


def _new_version() -> str:
    return secrets.token_hex(8)
