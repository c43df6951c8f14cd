"""The closed list of audited actions, and the form in which entries are shown.

Writes of data are `data.<operationId>`, those of an acting token `acting.…`.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import orjson

# An operation id of the OpenAPI document, after the kind of its write.
OF_DATA = re.compile(r"(data|acting)\.[a-zA-Z]{1,64}")


class Action(StrEnum):
    """The actions, in the order of the page about the audit log."""

    OPERATOR_INVITED = "operator.invited"
    OPERATOR_JOINED = "operator.joined"
    OPERATOR_SIGNED_IN = "operator.signed_in"
    OPERATOR_SIGN_IN_FAILED = "operator.sign_in_failed"
    OPERATOR_SIGNED_OUT = "operator.signed_out"
    OPERATOR_CHANGED = "operator.changed"
    OPERATOR_REMOVED = "operator.removed"
    OPERATOR_RESET = "operator.reset"
    OPERATOR_PASSWORD_CHANGED = "operator.password_changed"  # noqa: S105 - the name of an action
    OPERATOR_FACTOR_ADDED = "operator.factor_added"
    OPERATOR_FACTOR_REMOVED = "operator.factor_removed"
    TOKEN_CREATED = "token.created"  # noqa: S105 - the name of an action
    TOKEN_REVOKED = "token.revoked"  # noqa: S105 - the name of an action
    PROJECT_CREATED = "project.created"
    PROJECT_RENAMED = "project.renamed"
    PROJECT_DELETED = "project.deleted"
    SETTINGS_CHANGED = "settings.changed"
    KEY_CREATED = "key.created"
    KEY_REVOKED = "key.revoked"
    KEY_ROTATED = "key.rotated"
    SIGNING_KEY_ROTATED = "signing_key.rotated"
    PROVIDER_SET = "provider.set"
    PROVIDER_REMOVED = "provider.removed"
    COLLECTION_CREATED = "collection.created"
    COLLECTION_CHANGED = "collection.changed"
    COLLECTION_DELETED = "collection.deleted"
    RULES_CHANGED = "rules.changed"
    PROFILE_CHANGED = "profile.changed"
    AGGREGATION_SAVED = "aggregation.saved"
    AGGREGATION_DELETED = "aggregation.deleted"
    USER_ACTED_AS = "user.acted_as"
    MAILBOX_READ = "mailbox.read"
    PROJECT_RESTORED = "project.restored"
    PROJECT_CLONED = "project.cloned"
    BACKUP_MADE = "backup.made"
    BACKUP_FAILED = "backup.failed"
    BACKUP_DOWNLOADED = "backup.downloaded"
    BACKUP_CHANGED = "backup.changed"
    BACKUP_DELETED = "backup.deleted"
    IMPORT_BEGUN = "import.begun"
    IMPORT_ENDED = "import.ended"


def is_action(text: str) -> bool:
    """True if an entry may have this action."""
    return text in set(Action) or OF_DATA.fullmatch(text) is not None


def show_entry(row: Mapping[str, Any]) -> dict[str, Any]:
    """A stored entry as the API and the commands show it; `at` is a datetime."""
    shown = {name: value for name, value in row.items() if name not in {"_id", "expires_at"}}
    return {"id": row["_id"], **shown, "changes": orjson.loads(row["changes"])}
