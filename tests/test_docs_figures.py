"""The figures on the pages are the constants of the code, and the tables its tables."""

from datetime import timedelta
from typing import get_args

import pytest

from service import bounds
from service.bounds import MAX_NAME
from service.domain.accounts import password_hashes as hashes
from service.domain.accounts import passwords
from service.domain.files import svg
from service.domain.files import sweep as sweeping
from service.domain.files.names import RANDOM_BYTES
from service.domain.files.types import FILE_TYPES
from service.domain.files.word import ZIP_DIRECTORY_BYTES
from service.domain.projects import lookup as projects
from service.domain.sign_in import usernames
from service.domain.sign_in.flow import LIFETIME
from service.domain.sign_in.flow import RANDOM_BYTES as SIGN_IN_BYTES
from service.errors import Invalid, ServiceError, SignInFailed
from service.providers import id_token, issuer, outbound
from service.query import parse
from service.query.operators import OPERATORS
from service.query.pipeline import PROBE_LIMIT
from service.seeding import manifest, sources
from service.seeding.report import SHOWN as SHOWN_BY_SEED
from service.storage import collections, definitions, pool_metrics
from service.storage.files import deletions as removals
from service.web.asgi.request_context import REQUEST_ID
from service.web.files import endpoints as files
from service.web.openapi import failures
from service.web.openapi.declaration import Credential
from service.web.sign_in import endpoints as sign_in
from tests.pages import missing, quoted, table

MIB = 1024 * 1024
KIB = 1024
# How the pages say it. A constant that is changed has no words until the page is changed too.
WORDS: dict[float, str] = {1: "one", 2: "two", 5: "five", 6: "six", 10: "ten"}
HOURS = {timedelta(hours=1): "an hour"}
RATES: dict[float, str] = {60: "once a minute"}
PATTERNS = {rb"[A-Za-z0-9_-]{8,64}": "8 to 64 letters, digits, `_` or `-`"}


def minutes(span: timedelta) -> int:
    return int(span.total_seconds()) // 60


def statuses(*errors: failures.Failure) -> str:
    return ", ".join(map(str, sorted(error.status for error in errors)))


PROMISES = {
    "docs/files.md": [
        f"at most {bounds.MAX_FILES} files a request, each of 1 to {bounds.MAX_FILE_BYTES:,} bytes",
        f"422 for the {bounds.MAX_FILES + 1}th file",
        f"`data` at most {bounds.MAX_JSON_BYTES:,} bytes",
        f"1 to {MAX_NAME} characters",
        f"at most {svg.MAX_DEPTH} elements deep, {svg.MAX_NAMES:,} different names, {svg.MAX_TAG_BYTES // MIB} MiB in one tag",
        f"directory of at most {ZIP_DIRECTORY_BYTES // KIB} KiB",
        f"holds {RANDOM_BYTES * 8} random bits",
        f"about every {WORDS[sweeping.SWEEP_EVERY_SECONDS // 60]} minutes",
        f"nobody continued for {HOURS[removals.ABANDONED_AFTER]}",
        f"`Cache-Control: {files.IMMUTABLE.rpartition(' ')[2]}`",
        f"`Content-Security-Policy: {files.POLICY.rpartition(' ')[2]}`",
    ],
    "docs/sign-in.md": [
        f"store state, nonce, code verifier ({minutes(LIFETIME)} minutes)",
        f"used or older than {minutes(LIFETIME)} minutes",
        f"`SameSite=Lax`, {minutes(LIFETIME)} minutes",
        f"are {SIGN_IN_BYTES * 8} random bits each",
        f"`client_state` (1 to {sign_in.MAX_CLIENT_STATE} characters)",
        f"else the first {usernames.ID_LETTERS} characters of the user's id",
        f"{outbound.TOTAL_SECONDS:.0f} s in all, {outbound.CONNECT_SECONDS:.0f} s to connect, {outbound.MAX_BODY // MIB} MiB",
        f"{WORDS[id_token.LEEWAY_SECONDS // 60]} minute of leeway",
        f"for an unknown `kid`, {RATES[issuer.REFRESH_SECONDS]} at most",
        f"`{sign_in.COOKIE.partition('sign')[0]}` cookie",
    ],
    "docs/seeding.md": [
        f"the first {SHOWN_BY_SEED} of each kind are listed",
        f"names the first {SHOWN_BY_SEED} of each kind",
        f"a `.json` file may have {sources.MAX_JSON_BYTES // MIB} MiB",
        f"at most {hashes.MAX_MEMORY_KIB // KIB} MiB, {hashes.MAX_TIME} passes and {hashes.MAX_LANES} lanes",
        f"more than the {passwords.MAX_PASSWORD_BYTES} bytes that bcrypt reads",
        *(f"`{cell}`" for cell in get_args(manifest.CellType)),
    ],
    "docs/schemas.md": [
        f"after {RATES[definitions.CHANGE_SECONDS + definitions.SPARE_SECONDS].partition(' ')[2]} at most",
        f"reasons of the first {WORDS[collections.SHOWN]}",
        f"within {WORDS[projects.CACHE_SECONDS]} seconds; until then",
    ],
    "docs/api.md": [
        f"endpoint of a credential shares ({statuses(*failures.OF_CREDENTIAL[Credential.API_KEY], Invalid)})",
        f"those of a body ({statuses(*failures.OF_BODY)}) and {ServiceError.status} are added",
    ],
    "docs/settings.md": [
        f"on every worker within {WORDS[projects.CACHE_SECONDS]} seconds",
        f"characters a new password must have, 1 to {passwords.MAX_PASSWORD_BYTES}",
    ],
    "docs/operations.md": [
        f"waited over {pool_metrics.LONG_WAIT_SECONDS * 1000:.0f} ms for a connection",
        PATTERNS[REQUEST_ID.pattern],
    ],
    "README.md": [f"{WORDS[len(OPERATORS)]} operators on any field"],
    "docs/performance.md": [f"the last {parse.CACHED_QUERIES} are remembered"],
    "ARCHITECTURE.md": [
        f"is one of {WORDS[len(SignInFailed.__subclasses__()) + 1]} codes",
        f"ids of up to {PROBE_LIMIT:,} related users",
        f"remembered for {WORDS[projects.CACHE_SECONDS]} seconds",
        f"is read within {bounds.MAX_JSON_BYTES // MIB} MiB",
    ],
}


@pytest.mark.parametrize("page", PROMISES)
def test_the_figures_of_a_page_are_those_of_the_code(page: str) -> None:
    assert missing(page, PROMISES[page]) == []


def test_the_types_of_files_are_those_that_are_accepted() -> None:
    listed = [name for row in table("docs/files.md", "| extension |") for name in quoted(row[0])]
    assert sorted(listed) == sorted(FILE_TYPES)
    shown = {name for name, kind in FILE_TYPES.items() if kind.shown_inline}
    assert shown == {name for name, kind in FILE_TYPES.items() if kind.media_type.startswith("image/")} - {"svg"}


def test_the_parts_of_a_manifest_are_those_that_are_read() -> None:
    assert [quoted(row[0])[0] for row in table("docs/seeding.md", "| part |")] == list(manifest.Manifest.model_fields)
    options = {quoted(row[0])[0] for row in table("docs/seeding.md", "| option of a source |")}
    assert options == set(manifest.DocumentSource.model_fields) - {"rows", "file"}
