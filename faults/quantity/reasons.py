"""Why a bound has no cost of its own: no single request is at its end."""

from collections.abc import Mapping

MANY = "of many requests at once: `scripts/faults hostile`"
COMMAND = "of a command, not of a request"
ADDED_UP = "of many requests one after the other"

REASONS: Mapping[str, str] = {
    "MAX_IN_FLIGHT": MANY,
    "MAX_ORIGIN_LOOKUPS": MANY,
    "MAX_ADDRESS_CONNECTIONS": "of connections: `tests/threats/test_connection_attacks.py`",
    "MAX_BOUNDARY": "nothing grows with it but the search for it, see the bytes of a file",
    "MAX_IDEMPOTENCY_KEY": "it is hashed, with the body",
    "MAX_KEPT_ANSWER_BYTES": "as the bytes of the record that is answered: it is sealed once",
    "MAX_PART_HEADERS": "as the row below, which has as many",
    "MAX_UPLOADS": MANY,
    "MAX_TRANSFERS": MANY,
    "MAX_BULK": "of many documents one after the other: chunks of 1,000",
    "MAX_IMPORT_BYTES": "of many lines one after the other: `scripts/bench_transfers`",
    "MAX_LINE_ERRORS": "each as a refusal of one document",
    "MAX_LOG_BYTES": "of a reader that does not read: row N30",
    "MAX_STREAMS": MANY,
    "MAX_ADDRESS_STREAMS": MANY,
    "MAX_HASHES_WAITING": MANY,
    "MAX_SIGN_INS": MANY,
    "MAX_SIGN_INS_WAITING": MANY,
    "MAX_PROVIDER_KEYS": "of a provider's answer: row N42",
    "MAX_DELIVERIES": "of servers that do not answer: row E11",
    "MAX_HOST_DELIVERIES": "of servers that do not answer: row E11",
    "MAX_MAILBOX": "for developers, on their own machine",
    "MAX_ROW_BYTES": COMMAND,
    "MAX_LISTS": MANY,
    "MAX_SLOW_LISTS": MANY,
    "MAX_LISTS_WAITING": MANY,
    "MAX_POPULATED_BYTES": "as the row above",
    "MAX_PROJECT_INDEXES": ADDED_UP,
    "MAX_KEYS": COMMAND,
    "MAX_PATTERN_WAITING": MANY,
    "MAX_SET_VALUES": ADDED_UP,
    "MAX_MADE_FILES": ADDED_UP,
    "MAX_CLAIMS_BYTES": "as other data of a user's; a token that has them is verified once in five seconds",
    "MAX_ROLES": "as the stored tests, whose users have as many",
    "MAX_ENDED": "prototypes read a user with 100 of them in 1.06 of the time",
    "MAX_LISTED_SESSIONS": ADDED_UP,
    "MAX_USER_AGENT": "a header, see the bytes of a request's headers",
    "MAX_SIGNED_URLS": "one signature for each, as in a page of records with files",
    "MAX_CONFLICTS": ADDED_UP,
    "MAX_BATCH_ANSWER_BYTES": "of a batch of large documents: `tests/threats/test_data_api_attacks.py`",
    "MAX_AGGREGATIONS_UNDER_WAY": MANY,
    "MAX_AGGREGATIONS_WAITING": MANY,
    "MAX_AGGREGATIONS": ADDED_UP,
    "MAX_CAN_DEPTH": "each is a condition of one rule",
}
