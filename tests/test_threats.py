"""Every threat has a test: a function named `test_<id>_<what>`, somewhere under tests/."""

import re
from pathlib import Path

import pytest

# The rows of the list of threats and faults. docs/limits.md and docs/operations.md explain those of limits and faults.
THREATS = {
    "Q1": "operators instead of strings in a body",
    "Q2": "operators, unknown and repeated parameters in a query string",
    "Q3": "field names that mean something to the database",
    "Q4": "hidden fields in filters, sorts and populate",
    "Q5": "populate shows public fields only, to a bounded depth",
    "Q6": "text that would be an expensive pattern",
    "Q7": "too many conditions, values, parts, records",
    "Q8": "ids of another project",
    "B1": "bodies that are no JSON object",
    "B2": "depth",
    "B3": "numbers that are not finite",
    "B4": "integers beyond 64 bits",
    "B5": "lone surrogates and NUL",
    "B6": "bodies too large or encoded",
    "B7": "slow clients and idle connections",
    "A1": "spellings of an e-mail address",
    "A2": "passwords at bcrypt's limits",
    "A3": "the internal password of a provider's user",
    "A4": "200 parallel logins",
    "A5": "the time of a failing login",
    "A6": "50 parallel signups with one e-mail address",
    "A7": "two updates at once",
    "T1": "tokens that are not genuine",
    "T2": "tokens that are not valid here and now",
    "T3": "credentials in the wrong place or twice",
    "T4": "a rotated key",
    "O1": "a callback without its state",
    "O2": "20 callbacks with one state",
    "O3": "state, nonce and code challenge",
    "O4": "ID tokens that are not genuine",
    "O5": "an e-mail address that is not verified",
    "O6": "a provider that fails",
    "O7": "another subject with the e-mail address of a user",
    "O8": "a first sign-in 20 times at once",
    "O9": "redirects to elsewhere",
    "O10": "the redirect itself",
    "F1": "multipart parts that do not belong",
    "F2": "multipart that is malformed",
    "F3": "file names",
    "F4": "content that is not what its name says",
    "F5": "the size of a file",
    "F6": "an upload that is cut off",
    "F7": "the memory of parallel uploads",
    "F8": "an SVG with a script",
    "F9": "ranges",
    "F10": "the URL of somebody else's file",
    "L1": "forwarding headers",
    "L2": "parallel logins at two workers",
    "L3": "other spellings of a path",
    "L4": "no MongoDB to count in",
    "R1": "a start without MongoDB",
    "R2": "a MongoDB that hangs",
    "R3": "the primary killed",
    "R4": "a stop with requests in flight",
    "R5": "a worker killed",
    "N1": "a name that is repeated, in a large body",
    "N2": "thousands of names in one record",
    "N3": "many large collections, and many who wait for them",
    "N4": "slow readers of a file",
    "N5": "requests under way while a project is deleted",
    "N6": "a changed setting, as a user's token sees it",
    "N7": "as many broken rules as a body can hold",
    "N8": "a page that is refused by the outermost layers",
    "N9": "a background job that fails",
    "N10": "a seed's record that is too large",
    "N11": "the window of a limit that turns while leases are returned",
    "N12": "a project whose sweep fails",
    "N13": "files and keys, from a page of another project",
    "N14": "a day of a project spent by requests without a credential",
    "N15": "an internationalized address as a seed's reference",
    "N16": "a project deleted by mistake",
    "N17": "a pattern that is expensive to match",
    "N18": "a record populated thousands of times",
    "N19": "floods of headers and trailers",
    "N20": "cookies that are expensive to read",
    "N21": "more indexes than MongoDB has files for",
    "N22": "lists with many relations",
    "N23": "idle connections",
    "N24": "workers without their parent",
    "N25": "a provider that hangs",
    "N26": "schemas nested hundreds deep",
    "N27": "credentials and addresses in trailers",
    "N28": "a service that is ready and cannot serve",
    "N29": "another SECRET_KEY",
    "N30": "a log that nobody reads",
    "N31": "a replaced file that is named elsewhere",
    "N32": "hosts whose clocks differ",
    "N33": "accounts that grow",
    "N34": "a body of very many values",
    "N35": "every relation of very many fields",
    "N36": "what deleted collections leave",
    "N37": "what operators and seeds get wrong",
    "N38": "a stray quote in a large CSV",
    "N39": "a schema's change by a worker whose clock is ahead",
    "N40": "errors that name the wrong cause",
    "N41": "another BASE_URL",
    "N42": "odd and very many keys of a provider",
    "X0": "what may not be read changes an answer",
    "X1": "a relation to a record that cannot be read",
    "X2": "filters and sorts on a field that cannot be read",
    "X3": "the total of what cannot be read",
    "X4": "variables and sets that are not known",
    "X5": "writes that give a record away or lose fields",
    "X6": "roles and rights that a user gives himself",
    "X7": "the union of what two branches allow",
    "X8": "a schema that changes what a rule means",
    "X9": "odd rules that open everything",
    "X10": "unique values and references as an oracle",
    "X11": "what cannot be read told from what is not there",
    "X12": "what was taken away and still works",
    "X13": "a publishable key where it does not belong",
    "X14": "protected files",
    "X15": "rules and queries that are too large",
    "P1": "an answer of another provider",
    "P2": "an e-mail address that anybody may have written",
    "P3": "an ID token of somebody else, or one that comes twice",
    "P4": "an account that was planted",
    "P5": "a victim who ends an attacker's link",
    "P6": "two identities removed at once",
    "P7": "a code that comes twice, and tokens in URLs",
    "D1": "a publishable key where only the secret key may",
    "D3": "a disabled user",
}
# Rows whose feature is still to come. An id that has a test must leave this set.
PENDING: set[str] = set()

TEST = re.compile(r"^ *(?:async )?def test_([a-z]\d+)_\w+\(", re.MULTILINE)


def _tested() -> set[str]:
    files = Path(__file__).parent.rglob("test_*.py")
    return {found.upper() for file in files for found in TEST.findall(file.read_text())}


TESTED = _tested()


@pytest.mark.parametrize("threat", sorted(THREATS.keys() - PENDING))
def test_every_threat_has_a_test(threat: str) -> None:
    assert threat in TESTED, f"{threat}: {THREATS[threat]}"


def test_what_has_a_test_is_not_pending() -> None:
    assert not PENDING & TESTED
