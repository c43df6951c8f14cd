"""The table of bounds: how much of each thing there may be, what that protects, and the error past it.

Each bound is a number that knows its row of the table, which `docs/bounds.md` shows. Deadlines and limits of frequency are
not here: those are in `web/asgi/deadlines` and `domain/limits`.
"""

from typing import Self


class Bound(int):
    """A number, of `what`; it `protects` something, and what exceeds it is answered with `past`, "413 too_large"."""

    what: str
    protects: str
    past: str

    def __new__(cls, number: int, what: str, *, protects: str, past: str) -> Self:
        self = super().__new__(cls, number)
        self.what, self.protects, self.past = what, protects, past
        return self

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        """A copy is a plain number; pydantic copies what fields are annotated with."""
        return int, (int(self),)


LOOP = "the event loop"
MEMORY = "the worker's memory"
MONGODB = "MongoDB's time"
INVALID = "422 validation_error"

# Connections and requests.
MAX_IN_FLIGHT = Bound(256, "requests in flight in a worker", protects=MEMORY, past="503 busy")
MAX_ORIGIN_LOOKUPS = Bound(
    32, "origins looked up at once for answers of no project", protects=MONGODB, past="no CORS fields"
)
MAX_ADDRESS_CONNECTIONS = Bound(
    200, "connections of an address to a worker, trusted proxies apart", protects="the open files", past="503 busy"
)
MAX_HEADER_BYTES = Bound(
    65_536, "bytes of a request's line and headers, or of its trailers", protects=MEMORY, past="431 headers_too_large"
)
MAX_HEADERS = Bound(100, "headers of a request, or trailers", protects=MEMORY, past="431 headers_too_large")
MAX_QUERY_BYTES = Bound(4_096, "bytes of a query string", protects=LOOP, past=INVALID)
MAX_JSON_BYTES = Bound(
    1_048_576, "bytes of a JSON body, and of a form's part `data`", protects=LOOP, past="413 too_large"
)
MAX_VALUES = Bound(
    50_000, "values in a JSON body, and in a form's part `data`, at every depth", protects=LOOP, past=INVALID
)
MAX_IDEMPOTENCY_KEY = Bound(255, "characters of an `Idempotency-Key`", protects=MONGODB, past=INVALID)
MAX_KEPT_ANSWER_BYTES = Bound(
    262_144,
    "bytes of an answer that is kept for its `Idempotency-Key`",
    protects="the disk",
    past="id and version are kept, and a replay reads the document again",
)
MAX_BOUNDARY = Bound(70, "characters of a form's boundary (RFC 2046 section 5.1.1)", protects=LOOP, past=INVALID)
MAX_PARTS = Bound(12, "parts of a form", protects=MEMORY, past=INVALID)
MAX_PART_HEADERS = Bound(8, "headers of a part", protects=MEMORY, past=INVALID)
MAX_PART_HEADER_BYTES = Bound(4_096, "bytes of a header of a part", protects=MEMORY, past=INVALID)
MAX_VIOLATIONS = Bound(
    100, "broken rules that a refusal lists", protects=MEMORY, past="`omitted` says how many more there are"
)
MAX_REFUSAL_BYTES = Bound(65_536, "bytes of a refusal's list", protects=MEMORY, past="as the row above")
MAX_FILES = Bound(10, "files in a form", protects=MEMORY, past=INVALID)
MAX_FIELD_FILES = Bound(
    100, "files in one field of a document; one that has more keeps them", protects=LOOP, past=INVALID
)
MAX_FILE_BYTES = Bound(52_428_800, "bytes of a file", protects="the disk", past="413 too_large")
MAX_SIGNING_KEYS = Bound(20, "earlier signing keys of a project whose tokens still live", protects=LOOP, past="refused")
MAX_ENDED = Bound(
    100, "ended sessions of a user whose tokens still live", protects=MONGODB, past="all tokens of the user die"
)
MAX_LISTED_SESSIONS = Bound(1_000, "sessions in the list of a user's", protects=MEMORY, past="the newest are listed")
MAX_EVENTS_WAITING = Bound(
    10_000, "sign-ins and ends of sessions that wait to be recorded", protects=MEMORY, past="the rest is not recorded"
)
MAX_NOTED_SESSIONS = Bound(
    10_000, "sessions whose last noted use a worker remembers", protects=MEMORY, past="the oldest is noted again"
)
MAX_SIGHTINGS = Bound(
    10_000,
    "uses of sessions, and as many sign-ins of users, that wait to be noted",
    protects=MEMORY,
    past="the rest is not noted",
)
MAX_USER_AGENT = Bound(256, "characters of a session's user agent", protects="the disk", past="the rest is cut off")
MAX_EVENT_BYTES = Bound(
    262_144,
    "bytes of the records in an event of the feed, as MongoDB keeps them",
    protects=MEMORY,
    past="`previous`, then `document`, are left out, and `omitted` names them",
)
MAX_COMMIT_BYTES = Bound(
    8_388_608, "bytes of the events of one commit of the feed", protects=MEMORY, past="several commits"
)
MAX_CHANGES = Bound(1_000, "events in one answer of the feed", protects=MEMORY, past=INVALID)
MAX_FEED_BYTES = Bound(
    4_194_304, "bytes of the events in one answer of the feed", protects=MEMORY, past="`next` goes on"
)
MAX_FEED_READERS = Bound(
    8,
    "readers of a project that wait for the feed, or follow it, in a worker",
    protects=MONGODB,
    past="429 too_many_readers",
)
MAX_FEED_PATTERNS = Bound(20, "patterns of events of a feed, or of a request", protects=LOOP, past=INVALID)
MAX_SIGNED_URLS = Bound(100, "URLs of files signed by one request", protects=MONGODB, past=INVALID)
MAX_VARIANTS = Bound(10, "variants of a field of files", protects="the disk", past=INVALID)
MAX_VARIANT_SIDE = Bound(4_096, "pixels of a side of a variant", protects=MEMORY, past=INVALID)
MAX_IMAGE_PIXELS = Bound(
    40_000_000,
    "pixels of an image that a variant is made of",
    protects=MEMORY,
    past="422 validation_error, for the variant",
)
MAX_VARIANTS_WAITING = Bound(
    64, "variants that wait in a worker, which makes one at a time", protects=MEMORY, past="503 busy"
)
MAX_UPLOADS = Bound(32, "forms with files under way of a project in a worker", protects=MEMORY, past="503 busy")
MAX_TRANSFERS = Bound(
    2, "imports, exports and bulk writes under way of a project in a worker", protects=MONGODB, past="503 busy"
)
MAX_BULK = Bound(10_000, "documents that one bulk write changes", protects=MONGODB, past="`next` goes on")
MAX_IMPORT_BYTES = Bound(
    1_073_741_824, "bytes of an import", protects="the disk", past="413 too_large, and what came before is stored"
)
MAX_LINE_ERRORS = Bound(
    100, "refused lines that the answer to an import lists", protects=MEMORY, past="`refused` counts all of them"
)
MAX_ERROR_GROUPS = Bound(
    100, "kinds of errors that the answer to an import counts", protects=MEMORY, past="`refused` counts all lines"
)
MAX_LOG_BYTES = Bound(
    1_048_576, "bytes of log lines that wait for their reader", protects=MEMORY, past="dropped, and counted"
)
MAX_STREAMS = Bound(256, "files that a worker sends at once", protects=MEMORY, past="503 busy")
MAX_ADDRESS_STREAMS = Bound(64, "files that a worker sends to one address at once", protects=MEMORY, past="503 busy")
MAX_CLASHES = Bound(
    10, "user names that a refusal of USERNAMES shows", protects="the reader", past="the rest is left out"
)
MAX_CAPTCHA_TOKEN = Bound(8_192, "characters of the token of a CAPTCHA", protects=LOOP, past="400 captcha_failed")
MAX_RANGE_BYTES = Bound(
    16_777_216, "bytes of answers about leaked passwords that a worker keeps", protects=MEMORY, past="the oldest leaves"
)
MAX_HASHES_WAITING = Bound(64, "passwords waiting for a worker's hashing threads", protects="the CPU", past="503 busy")

# Posts to URLs that a project names.
MAX_OUTBOUND_URL = Bound(2_048, "characters of a URL that the service posts to", protects=MEMORY, past="refused")
MAX_OUTBOUND_ANSWER = Bound(
    65_536, "bytes read of the answer to a post", protects=MEMORY, past="the connection is closed"
)
MAX_OUTBOUND_SHOWN = Bound(1_024, "bytes kept of the answer to a post", protects=MONGODB, past="the rest is dropped")
MAX_KEPT_NAMES = Bound(
    1_000, "names whose addresses a worker keeps for posts", protects=MEMORY, past="the oldest is forgotten"
)

# Sign-ins through a provider.
MAX_SIGN_INS = Bound(
    5, "sign-ins under way at one provider in a worker", protects="sign-ins elsewhere", past="503 busy"
)
MAX_SIGN_INS_WAITING = Bound(32, "sign-ins that wait for one provider", protects=MEMORY, past="503 busy")
MAX_PROVIDERS = Bound(20, "providers of a project beside the one of its IDP settings", protects=MEMORY, past="refused")
MAX_IDENTITIES = Bound(20, "identities of a user at providers", protects=MONGODB, past="409 identity_limit")
MAX_PROVIDER_KEYS = Bound(50, "keys read of a provider's key set", protects=LOOP, past="the rest are passed over")

# Mails.
MAX_DELIVERIES = Bound(16, "mails that a worker hands over at once", protects=MEMORY, past="the others wait")
MAX_HOST_DELIVERIES = Bound(
    4, "mails that a worker hands to one server at once", protects="mails elsewhere", past="the others wait"
)
MAX_KNOWN_MAIL_HOSTS = Bound(
    1_000, "mail servers whose pace a worker remembers", protects=MEMORY, past="the oldest is forgotten"
)
MAX_FORM_BYTES = Bound(8_192, "bytes of the form behind the link of a mail", protects=MEMORY, past="413 too_large")
MAX_MAILBOX = Bound(100, "mails that the mailbox shows", protects=MEMORY, past="the newest are shown")

# Records.
MAX_USER_BYTES = Bound(
    1_048_576, "bytes of a user's `data`, as MongoDB keeps it", protects=MEMORY, past="413 too_large"
)
MAX_CLAIMS_BYTES = Bound(
    800,
    "bytes of the claims that a server gives a user, as JSON",
    protects="the headers of every request",
    past=INVALID,
)
MAX_DEPTH = Bound(32, "objects and arrays inside one another in `data`", protects=LOOP, past=INVALID)
MAX_NAMES = Bound(
    1_000,
    "names of fields in the `data` of one body; a name inside another counts by its path, once in all of an array",
    protects=MONGODB,
    past=INVALID,
)
MAX_DOCUMENT_BYTES = Bound(
    2_097_152,
    "bytes of a document's `data`, as MongoDB keeps it, to which a change may add",
    protects=LOOP,
    past="413 too_large",
)
MAX_FILLED_BYTES = Bound(
    1_048_576,
    "bytes that defaults add to one document, 16 for each value beside its text",
    protects=MEMORY,
    past=INVALID,
)
# A server, and a user with sight of a field, may each hide MAX_DOCUMENT_BYTES from the others; MongoDB keeps 16 MiB.
MAX_HIDDEN_BYTES = Bound(
    12_582_912,
    "bytes of a document, beside those that its writer sees, of fields that rules may hide from the writer",
    protects="the length of hidden fields",
    past="413 too_large",
)
MAX_BATCH = Bound(100, "operations of a batch", protects=MONGODB, past=INVALID)
MAX_BATCH_ANSWER_BYTES = Bound(
    16_777_216,
    "bytes of records in a batch's answer, after which no further operation is begun",
    protects=MEMORY,
    past="413 too_large",
)
MAX_OPERATIONS = Bound(1_000, "fields that the operators of one change name", protects=MONGODB, past=INVALID)
MAX_ELEMENTS = Bound(500, "elements that `add` or `pull` compares with an array's", protects=MONGODB, past=INVALID)
MAX_COMPARISONS = Bound(
    5_000_000,
    "elements of an array times those that `add` or `pull` compares with them, where these are more than 16",
    protects=MONGODB,
    past=INVALID,
)
MAX_NAME = Bound(128, "characters of a field's name", protects=MONGODB, past=INVALID)
MAX_ROW_BYTES = Bound(
    1_048_576, "bytes of a row of a seed, and of a line of an import", protects=MEMORY, past="the row is refused"
)

# Lists.
MAX_CONDITIONS = Bound(50, "conditions of a query, those of its `where` included", protects=MONGODB, past=INVALID)
MAX_RELATION_DEPTH = Bound(3, "relations that one condition or `populate` follows", protects=MONGODB, past=INVALID)
MAX_POPULATE = Bound(5, "relations to populate", protects=MONGODB, past=INVALID)
MAX_COUNTS = Bound(5, "names in `with_counts`", protects=MONGODB, past=INVALID)
MAX_COUNTED = Bound(
    1_000, "related records that are counted for a record", protects=MONGODB, past="1,001 stands for more"
)
MAX_COUNTING_LIMIT = Bound(100, "records of a page with counts", protects=MONGODB, past=INVALID)
MAX_LIMIT = Bound(1_000, "records of a page", protects=MEMORY, past=INVALID)
MAX_SORT_KEYS = Bound(3, "fields to sort by", protects=MONGODB, past=INVALID)
MAX_CHOSEN = Bound(500, "names in `fields`", protects=LOOP, past=INVALID)
MAX_CURSOR = Bound(3_000, "characters of a cursor", protects=LOOP, past=INVALID)
MAX_CAPPED = Bound(10_000, "records that a capped total counts", protects=MONGODB, past="`total_is` is `at_least`")
MAX_DISTINCT = Bound(1_000, "values of `distinct`", protects=MEMORY, past="`truncated` is true")
MAX_LISTS = Bound(
    8,
    "lists under way of a project in a worker, first snapshots and resumes of subscriptions among them",
    protects=MONGODB,
    past="503 busy",
)
MAX_SLOW_LISTS = Bound(
    2,
    "lists under way in a worker of a project whose lists take more than 0.1 seconds in the mean, or had none yet",
    protects=MONGODB,
    past="503 busy",
)
MAX_LISTS_WAITING = Bound(32, "lists of a project that wait, up to 2 seconds", protects=MEMORY, past="503 busy")
MAX_RELATIONS = Bound(5, "different relations that the conditions of a query follow", protects=MONGODB, past=INVALID)
MAX_LOOKUPS = Bound(
    10,
    "searches for related records that the conditions of a query need: one for all of one object on one relation",
    protects=MONGODB,
    past=INVALID,
)
MAX_LISTED = Bound(
    1_000, "values in all lists of a `where`, or of an access rule, together", protects=LOOP, past=INVALID
)
MAX_POPULATED = Bound(10_000, "related records in an answer", protects=MEMORY, past=INVALID)
MAX_POPULATED_BYTES = Bound(16_777_216, "bytes of related records in an answer", protects=MEMORY, past=INVALID)
MAX_IN = Bound(500, "values of `_in`", protects=MONGODB, past=INVALID)
MAX_HASALL = Bound(50, "values of `_hasall`", protects=MONGODB, past=INVALID)
MAX_CONTAINS = Bound(256, "characters of `_contains`, `_icontains` and `_startswith`", protects=MONGODB, past=INVALID)
MAX_SEARCH_CHARACTERS = Bound(
    1_024, "characters of all `_contains` and `_icontains` of one filter together", protects=MONGODB, past=INVALID
)

# Projects and collections.
MAX_FIELDS = Bound(500, "fields of a schema, nested ones included", protects=MONGODB, past=INVALID)
MAX_INDEXES = Bound(
    60,
    "indexes that a schema asks for, with those that are built for the rules of its collection",
    protects="MongoDB's open files",
    past=INVALID,
)
MAX_COMPOUNDS = Bound(
    8, "compound unique keys of a collection, and compound indexes", protects="MongoDB's open files", past=INVALID
)
MAX_COMPOUND_FIELDS = Bound(4, "fields of a compound", protects=MONGODB, past=INVALID)
MAX_PROJECT_INDEXES = Bound(
    300,
    "indexes that the schemas of a project, and the rules that indexes are built for, ask for together",
    protects="MongoDB's open files",
    past="409 index_limit",
)
# Lists of collections, and checks of rules, read all schemas into memory at once.
MAX_SCHEMAS_BYTES = Bound(
    4_194_304, "bytes of all schemas of a project together, as MongoDB keeps them", protects=MEMORY, past=INVALID
)
MAX_MADE_FILES = Bound(
    3_000,
    "collections and indexes that a project makes in five minutes, a dropped one included",
    protects="MongoDB's open files",
    past="429 rate_limit_exceeded",
)
MAX_SCHEMA_DEPTH = Bound(10, "definitions inside one another", protects=MONGODB, past=INVALID)
MAX_CONTRACT_BYTES = Bound(
    16_777_216, "bytes of a project's contract, or of its types", protects=MEMORY, past="413 too_large"
)
MAX_CONTRACT_COLLECTIONS = Bound(50, "names in `collections` of a project's document", protects=LOOP, past=INVALID)
MAX_TYPED_FILTERS = Bound(
    100_000, "names of filters in a project's document", protects=MEMORY, past="patterns of names stand in their place"
)
MAX_CONTRACTS_WAITING = Bound(
    8, "contracts that wait while a worker makes another", protects="the worker's CPU", past="503 busy"
)
MAX_CONFLICTS = Bound(
    20,
    "writes an hour by a user, or by the guests of an address, that meet a unique value already taken",
    protects="values that others cannot read",
    past="429 rate_limit_exceeded, for every write to a unique field",
)
MAX_KEYS = Bound(50, "API keys of a project", protects=MONGODB, past="exit status 1")
MAX_PATTERN = Bound(256, "characters of a pattern", protects=LOOP, past=INVALID)
MAX_PATTERN_PROGRAM = Bound(65_536, "instructions of a schema's patterns, compiled", protects=MEMORY, past=INVALID)
MAX_PATTERN_WORK = Bound(
    134_217_728,
    "instructions times bytes to match one document with its patterns",
    protects="a worker's one thread for patterns",
    past=INVALID,
)
MAX_PATTERN_WAITING = Bound(
    32, "documents of a project that wait to be matched in a worker", protects=MEMORY, past="503 busy"
)
MAX_STEPS_WAITING = Bound(
    64,
    "pieces of long work on values that wait in a worker for their next turn",
    protects=MEMORY,
    past="503 busy, for the project with the most",
)
MAX_REFERENCES = Bound(100, "items of an array of references", protects=MONGODB, past=INVALID)
MAX_ENUM = Bound(500, "values of an `enum`", protects=MONGODB, past=INVALID)

# Aggregations.
MAX_GROUP_KEYS = Bound(8, "keys of an aggregation's `group`", protects=MONGODB, past=INVALID)
MAX_GROUP_VALUES = Bound(16, "`values` of an aggregation", protects=MONGODB, past=INVALID)
MAX_ROWS = Bound(1_000, "rows of an aggregation", protects=MEMORY, past="the others are cut off")
MAX_GROUPED_BYTES = Bound(
    1_000,
    "bytes of a text, an object or an array that is a key of an aggregation, or its `min` or `max`",
    protects=MEMORY,
    past="422 aggregation_too_large",
)
MAX_AGGREGATIONS_UNDER_WAY = Bound(
    2, "aggregations under way of a project in a worker", protects=MONGODB, past="503 busy"
)
MAX_AGGREGATIONS_WAITING = Bound(
    16, "aggregations of a project that wait, up to 2 seconds", protects=MEMORY, past="503 busy"
)
MAX_AGGREGATIONS = Bound(100, "saved aggregations of a project", protects=MEMORY, past="409 aggregation_limit")
MAX_AGGREGATION_BYTES = Bound(
    65_536, "bytes of a saved aggregation's definition", protects=MEMORY, past="413 too_large"
)
MAX_PARAMETERS = Bound(20, "parameters of a saved aggregation", protects=LOOP, past=INVALID)

# Access rules.
MAX_RULE_CONDITIONS = Bound(30, "conditions of an access rule", protects=MONGODB, past=INVALID)
MAX_TRANSITIONS = Bound(20, "transitions of an `update` rule", protects=LOOP, past=INVALID)
MAX_FIELD_CONDITIONS = Bound(
    100, "conditions of all rules of a collection's fields together", protects=LOOP, past=INVALID
)
MAX_WHERE_DEPTH = Bound(5, "objects of conditions inside one another", protects=LOOP, past=INVALID)
MAX_SETS = Bound(10, "sets of a project's rules", protects=MONGODB, past=INVALID)
MAX_SET_VALUES = Bound(
    1_000,
    "values of a set; one with more is unknown, and what it decides is refused",
    protects=MONGODB,
    past="403 forbidden",
)
MAX_SET_BYTES = Bound(
    65_536,
    "bytes of a set's values, UTF-8 of texts and 8 of any other; one with more is unknown, as above",
    protects=MEMORY,
    past="403 forbidden",
)
MAX_ENDED_USERS = Bound(
    1_000,
    "unused anonymous users of a project that are deleted in a turn",
    protects=MONGODB,
    past="the next turn, 10 minutes later",
)
MAX_SET_READS = Bound(
    20,
    "sets read again in a second before the rules refuse a user",
    protects=MONGODB,
    past="the sets decide as the worker remembers them",
)
MAX_ROLES = Bound(16, "roles of a user", protects=LOOP, past=INVALID)
MAX_PASSKEYS = Bound(20, "passkeys of a user", protects=LOOP, past="409 factor_limit")
MAX_ATTESTATION_BYTES = Bound(8_192, "bytes of the attestation of a new passkey", protects=LOOP, past=INVALID)
MAX_CAN_DEPTH = Bound(3, "rules that one rule needs by `$can`", protects=MONGODB, past=INVALID)
MAX_RULE_TESTS = Bound(200, "tests stored with the rules", protects=LOOP, past=INVALID)

# Caches of a worker, mostly for five seconds. Bytes are those in memory, as measured.
READ_AGAIN = "the oldest are read again"
MAX_KNOWN_SETS = Bound(16_777_216, "bytes of sets' values that a worker remembers", protects=MEMORY, past=READ_AGAIN)
MAX_KNOWN_PERMISSIONS = Bound(
    16_777_216, "bytes of rules with callers' values in them", protects=MEMORY, past="the oldest are put together again"
)
MAX_KNOWN_RULES = Bound(33_554_432, "bytes of compiled rules", protects=MEMORY, past=READ_AGAIN)
MAX_KNOWN_USERS = Bound(16_777_216, "bytes of what rules know of users", protects=MEMORY, past=READ_AGAIN)
MAX_KNOWN_COLLECTIONS = Bound(33_554_432, "bytes of parsed schemas", protects=MEMORY, past=READ_AGAIN)
MAX_KNOWN_CONTRACTS = Bound(
    33_554_432,
    "bytes of contracts and types of projects, plain and packed",
    protects=MEMORY,
    past="the oldest are made again",
)
MAX_KNOWN_PROJECTS = Bound(
    33_554_432, "bytes of projects with their settings, and as many by their keys", protects=MEMORY, past=READ_AGAIN
)
MAX_KNOWN_TOKENS = Bound(
    16_777_216, "bytes of tokens with their callers", protects=MEMORY, past="the oldest are verified again"
)
MAX_KNOWN_SESSIONS = Bound(10_000, "sessions whose users a worker knows, for a day", protects=MEMORY, past=READ_AGAIN)
MAX_KNOWN_ORIGINS = Bound(
    10_000, "origins that a worker remembers as listed by a project or not", protects=MEMORY, past=READ_AGAIN
)
MAX_KNOWN_CALLERS = Bound(
    10_000,
    "callers who had sets read again, or wrote to their sources",
    protects=MEMORY,
    past="the oldest are forgotten",
)

# Live queries and collections.
MAX_LIVE_BYTES = Bound(
    1_048_576, "bytes of a document of a live collection, as MongoDB keeps it", protects="the change feed", past=INVALID
)
MAX_IMAGE_BYTES = Bound(
    2_097_152,
    "bytes of a document, written past the service, that an event holds",
    protects="the change feed",
    past="`resync`, `large`",
)
MAX_SOCKETS = Bound(10_000, "sockets of a worker", protects=MEMORY, past="503 busy")
MAX_USER_SOCKETS = Bound(
    10,
    "sockets of a user, or event streams of an operator in a project, to a worker",
    protects=MEMORY,
    past="close 4429",
)
MAX_HANDSHAKES = Bound(200, "sockets that a worker opens in a second", protects=LOOP, past="503 busy")
MAX_SUBSCRIPTIONS = Bound(100, "subscriptions of a socket", protects=MEMORY, past="`closed`, `too_many_subscriptions`")
MAX_SOCKET_WHERE_BYTES = Bound(
    65_536,
    "bytes of `where`, as JSON without spaces, in all subscriptions of a socket",
    protects=MEMORY,
    past="`closed`, `too_many_subscriptions`",
)
MAX_WHERE_BYTES = Bound(
    67_108_864,
    "bytes of `where`, and of query strings of event streams, in all subscriptions of a worker",
    protects=MEMORY,
    past="`closed`, `too_many_subscriptions`",
)
MAX_MESSAGE_BYTES = Bound(65_536, "bytes of a message from a client", protects=MEMORY, past="close 1009")
MAX_MESSAGES = Bound(120, "messages of a socket at once, and then 20 a second", protects=LOOP, past="close 4429")
MAX_MESSAGE_ERRORS = Bound(10, "messages of a socket that are answered with `error`", protects=LOOP, past="close 4400")
MAX_MISSED = Bound(
    5_000, "changes that a resumed subscription may have missed, by its filter", protects=MONGODB, past="a snapshot"
)
MAX_SNAPSHOT_BYTES = Bound(4_194_304, "bytes of a snapshot", protects=MEMORY, past="`closed`, `page_too_large`")
MAX_CHANGES_BYTES = Bound(
    1_048_576,
    "bytes of a frame of changes, and of the changes that wait in a socket for their snapshots",
    protects=MEMORY,
    past="`resync`, `large`; a snapshot where they were missed",
)
MAX_BACKLOG_BYTES = Bound(
    33_554_432,
    "bytes of changes that wait for delivery in a worker's memory",
    protects=MEMORY,
    past="`resync`, `large`, to the followers of the collection with most waiting bytes",
)
MAX_UNSENT_BYTES = Bound(
    262_144,
    "bytes that wait in a socket behind its last snapshot",
    protects=MEMORY,
    past="`resync`, `slow`; close 4408 after 30 seconds",
)
MAX_SOCKET_BYTES = Bound(
    8_388_608, "bytes that wait in a socket, snapshots included", protects=MEMORY, past="close 4408"
)
MAX_WORKER_UNSENT_BYTES = Bound(
    67_108_864,
    "bytes that wait in all sockets of a worker",
    protects=MEMORY,
    past="close 4408, for those in which most waits",
)

# Operators, and the Admin API.
MAX_OPERATORS = Bound(200, "operators", protects=MONGODB, past="409 operator_limit")
MAX_OPERATOR_SESSIONS = Bound(20, "sessions of an operator", protects=MONGODB, past="the oldest ends")
MAX_OPERATOR_TOKENS = Bound(50, "tokens of an operator in force", protects=MONGODB, past="409 token_limit")
MAX_ACTING = Bound(10, "sessions in which an operator acts as users at once", protects=MONGODB, past="the oldest ends")
MAX_INVITATIONS = Bound(200, "open invitations of operators", protects=MONGODB, past="409 operator_limit")
MAX_OPERATOR_ROLES = Bound(200, "projects in which an operator has a role", protects=MONGODB, past=INVALID)
MAX_SCOPES = Bound(20, "scopes of an operator's token", protects=MONGODB, past=INVALID)


# Operators.
MAX_TRIALS = Bound(
    2,
    "trials of mail servers and providers under way of a project in a worker",
    protects="connections to others",
    past="503 busy",
)
# Schemas that are proposed from files.
MAX_INFER_BYTES = Bound(
    1_048_576, "bytes of a file from which a schema is proposed", protects=LOOP, past="413 too_large"
)
MAX_INFER_ROWS = Bound(1_000, "rows that decide a proposed schema", protects=LOOP, past="the others are not looked at")
MAX_INFER_LINES = Bound(10_000, "lines, blank ones among them, of the same", protects=LOOP, past="the rest is not read")
MAX_INFER_COLUMNS = Bound(200, "columns of a file from which a schema is proposed", protects=LOOP, past=INVALID)

# Views of the console.
MAX_VIEWS = Bound(200, "saved views of a project", protects="the disk", past="409 view_limit")
MAX_VIEW_BYTES = Bound(16_384, "bytes of the state of a view, as JSON", protects="the disk", past="413 too_large")
MAX_VIEW_DEPTH = Bound(32, "objects and arrays inside one another in the state of a view", protects=LOOP, past=INVALID)

# Usage, and the log of requests.
MAX_USAGE_STEPS = Bound(1_000, "hours or days of a report of usage", protects=MONGODB, past=INVALID)
MAX_REQUESTS_WAITING = Bound(
    10_000, "requests of a worker that wait to be written to the log", protects=MEMORY, past="counted in `skipped`"
)
MAX_LIVE_STREAMS = Bound(
    100, "live streams of requests and rates to operators, of a worker", protects=MEMORY, past="503 busy"
)
MAX_OPERATOR_LIVE_STREAMS = Bound(
    10, "live streams of an operator from a worker", protects=MEMORY, past="429 rate_limit_exceeded"
)
MAX_LIVE_ENTRIES = Bound(
    200, "requests in an event of a live stream, the newest", protects=LOOP, past="counted in `skipped`"
)
MAX_LIVE_READ = Bound(
    1_000,
    "requests that a live stream reads in a second, the newest",
    protects=MONGODB,
    past="the others are not shown",
)
MAX_REQUESTS_WRITTEN = Bound(
    100,
    "requests that a worker writes to the log in a second, those that failed or took a second first",
    protects=MONGODB,
    past="counted in `skipped`",
)

# The audit log.
MAX_AUDIT_CHANGES = Bound(100, "changes of an audit entry", protects="the disk", past="counted in `omitted`")
MAX_AUDIT_BYTES = Bound(
    16_384, "bytes of the changes of an audit entry, as JSON", protects="the disk", past="counted in `omitted`"
)
MAX_AUDIT_VALUE = Bound(1_000, "characters of a value in an audit entry, as JSON", protects="the disk", past="cut")
MAX_AUDIT_COUNTED = Bound(
    10_000, "changes that `omitted` of an audit entry counts", protects=LOOP, past="the rest is not counted"
)

# Backups.
DAMAGED = "422 backup_damaged"
MAX_BACKUP_RATIO = Bound(200, "bytes that one byte of a backup's member may become", protects=MEMORY, past=DAMAGED)
MAX_BACKUP_DEPTH = Bound(
    100, "objects and arrays inside one another in a backup's document", protects=LOOP, past=DAMAGED
)
MAX_IMPORT_ARCHIVE = Bound(
    68_719_476_736, "bytes that an archive unpacks to", protects="the disk", past="the import is refused"
)
MAX_IMPORT_BATCH_BYTES = Bound(4_194_304, "bytes of a batch of an import", protects=MEMORY, past="the next batch")
MAX_IMPORT_REJECTS = Bound(
    100_000, "rejected records that an import keeps of a target", protects="the disk", past="counted only"
)
MAX_IMPORT_JSON = Bound(268_435_456, "bytes of an export that is one JSON text", protects=MEMORY, past="it is refused")
MAX_IMPORT_EXAMPLES = Bound(20, "examples of a loss of an import", protects=MEMORY, past="counted only")
MAX_BACKUP_DOCUMENT = Bound(16_777_216, "bytes of a backup's document", protects=MEMORY, past=DAMAGED)
MAX_BACKUP_JSON = Bound(16_777_216, "bytes of a backup's JSON member", protects=MEMORY, past=DAMAGED)
MAX_LONG_JOBS = Bound(2, "long jobs of projects that run at once", protects="the leading worker", past="they wait")
MAX_BACKUPS = Bound(1_000, "backups of a project in the store of the service", protects="the disk", past="409 conflict")


def every_bound() -> list[Bound]:
    """The rows of the table, in the order of this page."""
    return [value for value in globals().values() if isinstance(value, Bound)]
