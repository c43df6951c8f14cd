"""A project's access rules: one record {_id: "rules", version, text} in a collection of its own.

The document is kept as JSON text, for its keys are no names of MongoDB's. `version` tells one
state of the rules from every other.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from service.errors import SchemaChanging
from service.storage.databases import ProjectDatabase

RULES = "rules"
DEFINITIONS = "collections"


@dataclass(frozen=True, slots=True)
class StoredRules:
    """The JSON of the document as it was sent, and its version."""

    version: str
    text: str


# What is there where none were ever saved.
NEVER_SAVED = StoredRules("0", "{}")


async def find_rules(database: ProjectDatabase) -> StoredRules:
    found = await database.records(RULES).find({"_id": RULES})
    return NEVER_SAVED if found is None else StoredRules(found["version"], found["text"])


async def save_rules(
    database: ProjectDatabase, text: str, *, over: str, collections: Sequence[str]
) -> StoredRules | None:
    """Stores the document in the place of the version `over`; None where that is not in force any more.

    The `collections` that the rules name are touched, so that a change of a schema, which asks the rules before it begins,
    cannot pass unseen. Raises SchemaChanging where one is under way.
    """
    version = secrets.token_hex(8)

    async def write(bound: ProjectDatabase) -> StoredRules | None:
        if (await find_rules(bound)).version != over:
            return None
        definitions = bound.records(DEFINITIONS)
        for name in collections:
            mark = {"$set": {"rules_version": version}}
            if not await definitions.update_one({"_id": name, "change": {"$exists": False}}, mark):
                raise SchemaChanging
        await bound.records(RULES).put({"_id": RULES, "version": version, "text": text})
        return StoredRules(version, text)

    return await database.in_transaction(write)
