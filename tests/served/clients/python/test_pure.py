"""The parts of the client that send nothing: JSON, conditions, forms, retries, sessions, errors."""

import io
import json
import tracemalloc
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx2
import pytest

from auth_collections_client import (
    Client,
    ConfigurationError,
    ConflictError,
    File,
    ServiceError,
    TransportError,
    UnavailableError,
)
from auth_collections_client.answers import error_of
from auth_collections_client.calls import Repeat, Settings, query_of
from auth_collections_client.encoding import json_bytes, segment
from auth_collections_client.errors import class_for
from auth_collections_client.forms import make_form, split_files
from auth_collections_client.queries import flatten
from auth_collections_client.retries import Tries
from auth_collections_client.sessions import challenge_of, make_session, read_claims
from tests.served.clients.python.samples import token
from tests.served.clients.python.wire import Chunks

PARIS = timezone(timedelta(hours=1))
WHERES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({"stock_gte": 1}, {"stock_gte": 1}),
    "a relation": ({"author": {"name_eq": "x", "born_gt": 1}}, {"author.name_eq": "x", "author.born_gt": 1}),
    "two relations": ({"a": {"b": {"c_eq": 1}}}, {"a.b.c_eq": 1}),
    "logic": (
        {"or": [{"a": {"x_eq": 1}}, {"not": {"b": {"y_eq": 2}}}]},
        {"or": [{"a.x_eq": 1}, {"not": {"b.y_eq": 2}}]},
    ),
    "a relation named not, dotted": ({"not.email_eq": "x"}, {"not.email_eq": "x"}),
    "a prototype's name": ({"__proto___eq": 1, "__class__": {"a_eq": 1}}, {"__proto___eq": 1, "__class__.a_eq": 1}),
}


@pytest.mark.parametrize("case", WHERES)
def test_nested_relations_become_dotted_names(case: str) -> None:
    given, wanted = WHERES[case]
    assert flatten(given) == wanted


@pytest.mark.parametrize("where", [{"a": {"or": [{"x_eq": 1}]}}, {"a": {"x_eq": 1}, "a.x_eq": 2}])
def test_conditions_without_a_meaning_are_refused(where: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        flatten(where)


def test_times_are_sent_in_utc_and_milliseconds() -> None:
    value = {"at": datetime(2026, 1, 31, 12, 0, 0, 123_456, PARIS), "day": [datetime(2026, 1, 31, tzinfo=UTC)]}
    wanted = {"at": "2026-01-31T11:00:00.123Z", "day": ["2026-01-31T00:00:00.000Z"]}
    assert json.loads(json_bytes(value)) == wanted
    assert query_of({"at": value["at"], "x": True, "n": 3, "none": None}) == {
        "at": "2026-01-31T11:00:00.123Z",
        "x": "true",
        "n": "3",
    }


SECRET = "hush\ud800"


@pytest.mark.parametrize(
    "value",
    [datetime(2026, 1, 31), float("nan"), object(), {1: "a"}, SECRET, File("a", b"")],  # noqa: DTZ001 - a naive one
    ids=["naive", "nan", "object", "name", "surrogate", "file"],
)
def test_a_value_without_json_is_refused_and_not_shown(value: Any) -> None:
    with pytest.raises(ConfigurationError) as refused:
        json_bytes({"a": [value]})
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize("text", ["", ".", ".."])
def test_a_path_has_no_empty_segment(text: str) -> None:
    assert segment("a/b?c#d%") == "a%2Fb%3Fc%23d%25"
    with pytest.raises(ConfigurationError):
        segment(text)


def test_kept_urls_stay_in_the_data_and_new_files_follow() -> None:
    one, two = File("1.png", b"1"), File("2.png", b"2")
    rest, files = split_files({"a": 1, "cover": one, "pages": ["url", two], "only": (one,), "list": [1]})
    assert rest == {"a": 1, "pages": ["url"], "list": [1]}
    assert files == [("cover", one), ("pages", two), ("only", one)]


def test_a_form_says_its_length_and_can_be_read_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 70_000)
    offset = io.BytesIO(b"skipped" + b"y" * 10)
    offset.seek(7)
    files = [("a", File('q"\r\n.png', tmp_path / "a")), ("b", File("b.png", offset)), ("c", File("c.png", b""))]
    form = make_form({"t": 1}, files)
    first, second = b"".join(form.chunks()), b"".join(form.chunks())
    assert (len(first), first) == (form.length, second)
    assert b'filename="q%22%0D%0A.png"' in first
    assert b"skipped" not in first


def test_a_file_that_cannot_be_read_again_is_refused() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    with pytest.raises(ConfigurationError, match="seekable"):
        make_form({}, [("a", File("a.png", Pipe(b"x")))])


NETWORK = TransportError("lost", code="network")
# The error → for each kind of call whether it is sent again, and the outcome of a write.
CASES: dict[str, tuple[ServiceError, tuple[bool, bool, bool], str]] = {
    "network": (NETWORK, (True, True, False), "unknown"),
    "timeout": (TransportError("slow", code="timeout"), (True, True, False), "unknown"),
    "aborted": (TransportError("closed", code="aborted"), (False, False, False), "unknown"),
    "a page of a proxy": (TransportError("html", status=502, code="bad_answer"), (True, True, False), "unknown"),
    "a redirect": (TransportError("moved", status=302, code="bad_answer"), (False, False, False), "refused"),
    "500": (UnavailableError("bug", status=500, code="internal_error"), (False, False, False), "unknown"),
    "502": (UnavailableError("away", status=502), (True, True, False), "unknown"),
    "unavailable": (UnavailableError("away", status=503, code="unavailable"), (True, True, False), "unknown"),
    "upload_lost": (UnavailableError("lost", status=503, code="upload_lost"), (True, True, False), "refused"),
    "busy": (UnavailableError("busy", status=503, code="busy"), (True, True, True), "refused"),
    "query_too_slow": (UnavailableError("slow", status=503, code="query_too_slow"), (False, False, False), "refused"),
    "429": (class_for(429)("much", status=429), (True, True, True), "refused"),
    "409": (ConflictError("taken", status=409), (False, False, False), "refused"),
}
KINDS: tuple[Repeat, ...] = ("safe", "keyed", "once")


@pytest.mark.parametrize("case", CASES)
def test_each_error_is_sent_again_or_not(case: str) -> None:
    error, wanted, outcome = CASES[case]
    found = tuple(Tries(kind, True, 3, 10.0).wait_after(error) is not None for kind in KINDS)
    assert (found, error.outcome) == (wanted, outcome)
    Tries("safe", False, 3, 10.0).wait_after(error)
    assert error.outcome == "refused"


def test_a_doubt_lasts_unless_a_key_settles_it() -> None:
    for has_key, outcome in ((False, "unknown"), (True, "refused")):
        tries, refusal = Tries("keyed", True, 3, 10.0), ConflictError("taken", status=409)
        assert tries.wait_after(NETWORK, has_key=has_key) is not None
        assert tries.wait_after(refusal, has_key=has_key) is None
        assert refusal.outcome == outcome


def test_waits_double_and_end() -> None:
    tries = Tries("safe", False, 3, 10.0, random=lambda: 1.0)
    assert [tries.wait_after(NETWORK) for _ in range(4)] == [0.25, 0.5, 1.0, None]
    unsent = TransportError("refused", code="network")
    unsent.was_sent = False
    assert Tries("once", True, 3, 10.0).wait_after(unsent) is not None
    assert unsent.outcome == "refused"


def test_a_session_counts_by_its_own_clock() -> None:
    access = token({"sub": "u", "iat": 1000, "exp": 1900})
    assert make_session({"access_token": access, "expires_in": 300}, now=5.0)["expires_at"] == 305
    assert make_session({"access_token": access}, now=5.0)["expires_at"] == 905
    assert make_session({"access_token": access, "expires_at": 7}, now=5.0)["expires_at"] == 7
    assert make_session({"access_token": access})["user_id"] == "u"
    assert read_claims("no token") == read_claims("a.b.c") == {}


def test_a_challenge_is_that_of_the_standard() -> None:
    """The example of RFC 7636, appendix B."""
    assert challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


@pytest.mark.parametrize("status", range(400, 600, 3))
def test_an_unknown_code_has_the_class_of_its_status(status: int) -> None:
    error = error_of(status, {"retry-after": "7"}, {"detail": "New", "code": "brand_new"})
    assert (type(error), error.code, error.retry_after) == (class_for(status), "brand_new", 7)
    assert isinstance(error, UnavailableError) == (status >= 500)


@pytest.mark.parametrize("url", ["", "example.com", "ftp://example.com", "https://"])
def test_a_client_needs_the_url_of_a_service(url: str) -> None:
    with pytest.raises(ConfigurationError):
        Settings(url, "ac_key")


def test_settings_show_no_key() -> None:
    assert "hush" not in repr(Settings("https://example.com", "ac_hush", headers={"x": "hush"}))


class Sink(httpx2.BaseTransport):
    """Reads an import to its end, and answers an export of the same length."""

    def __init__(self) -> None:
        self.taken = 0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return httpx2.Response(200, stream=Chunks(b"x" * 65_536, 256), request=request)
        stream: Any = request.stream
        self.taken = sum(map(len, stream))
        return httpx2.Response(200, json={"created": 1}, request=request)


def test_k24_rows_pass_in_little_memory() -> None:
    """K24: 16 MiB go in and come out, of which no more than 4 MiB are held at once."""
    sink, rows = Sink(), ({"title": "x" * 4_096} for _ in range(4_096))
    with httpx2.Client(transport=sink) as http, Client("http://service.test", "ac_key", http=http) as client:
        books = client.collection("books")
        tracemalloc.start()
        try:
            books.import_rows(rows)
            came = sum(map(len, books.export_rows()))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert min(sink.taken, came) >= 16 << 20
    assert peak < 4 << 20
