"""Files of documents over a real socket: rows F5, F6 and F7 as for users."""

import threading
from collections.abc import Iterator

import pytest

from faults.samples import FORM_TYPE, PNG, data_part, file_part, form, png
from faults.server import Server, peak_memory, serving
from faults.uploads import raw_request
from faults.waiting import wait_until
from service.bounds import MAX_FILE_BYTES

DOCUMENTS = "/api/collections/scans/documents"
SCHEMA = {"scan": {"type": "file"}, "pages": {"type": "array", "items": {"type": "file"}}}
MIB = 1_048_576
AT_ONCE = 2


@pytest.fixture
def scans(server: Server) -> Server:
    """A collection of its own, which goes with the files of the test."""
    return declared(server)


def declared(server: Server) -> Server:
    answer = server.request("POST", "/api/collections", json={"name": "scans", "schema": SCHEMA})
    assert answer.status_code == 201, answer.text
    return server


def create(server: Server, content: bytes) -> str:
    """The id of a document with one file."""
    answer = server.request("POST", DOCUMENTS, content=form(file_part("scan", content=content)), headers=FORM_TYPE)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def named(server: Server) -> list[str]:
    """The files that documents name."""
    return [document["data"]["scan"] for document in server.database["c_scans"].find()]


def files(server: Server) -> tuple[int, int, int]:
    """Files, chunks and intents."""
    names = ("files.files", "files.chunks", "uploads")
    found = [server.database[name].count_documents({}) for name in names]
    return found[0], found[1], found[2]


def test_f5_the_largest_file_of_a_document_and_one_byte_more(scans: Server) -> None:
    create(scans, png(MAX_FILE_BYTES))
    before = files(scans)
    assert before[0] == 1
    body = form(file_part("scan", content=png(MAX_FILE_BYTES + 1)))
    answer = scans.request("POST", DOCUMENTS, content=body, headers=FORM_TYPE)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    wait_until(lambda: files(scans) == before, 60)
    assert scans.database["c_scans"].count_documents({}) == 1


def test_f5_reading_of_a_file_of_a_document_stops(scans: Server) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        yield form(file_part("scan", content=PNG))[: -len("\r\n--sample-boundary--\r\n")]
        while sent < 4 * MAX_FILE_BYTES:
            sent += MIB
            yield b"\0" * MIB

    answer = scans.request("POST", DOCUMENTS, content=endless(), headers=FORM_TYPE)
    assert answer.status_code == 413
    assert sent < 2 * MAX_FILE_BYTES
    wait_until(lambda: files(scans) == (0, 0, 0), 60)


@pytest.mark.parametrize(
    ("said", "status", "kept"),
    [(1_000, 422, 0), (2_000_000, 422, 0), (8_000_000, 201, 1)],
    ids=["too little", "too little of a file", "too much"],
)
def test_f5_a_length_that_lies_of_an_upload_to_a_document(scans: Server, said: int, status: int, kept: int) -> None:
    body = form(file_part("scan", content=png(3_000_000)))
    raw = raw_request("POST", DOCUMENTS, body, f"x-api-key: {scans.key}")
    lying = raw.replace(b"content-length: %d" % len(body), b"content-length: %d" % said)
    assert lying != raw
    with scans.connect() as connection:
        connection.sendall(lying[: len(lying) - max(len(body) - said, 0)])
        assert b" %d " % status in connection.recv(65_536).splitlines()[0]
    wait_until(lambda: files(scans)[0] == kept and files(scans)[2] == 0, 60)
    assert scans.database["c_scans"].count_documents({}) == kept
    assert (files(scans)[1] > 0) == bool(kept)


@pytest.mark.usefixtures("short_transactions")
@pytest.mark.parametrize("percent", [50, 99])
def test_f6_a_worker_that_is_killed_in_an_upload_to_a_document(
    mongodb_uri: str, database_prefix: str, percent: int
) -> None:
    """The document keeps the file that it had, and one sweep removes what came of the other."""
    with serving(mongodb_uri, f"{database_prefix}scan_") as server:
        id_ = create(declared(server), png(300_000))
        before, names = files(server), named(server)
        body = form(file_part("scan", content=png(20_000_000)))
        raw = raw_request("PATCH", f"{DOCUMENTS}/{id_}", body, f"x-api-key: {server.key}")
        with server.connect() as connection:
            connection.sendall(raw[: len(raw) * percent // 100])
            wait_until(lambda: files(server)[1] > before[1], 30)
            server.kill()
        assert (files(server)[0], files(server)[2]) == (1, 1)
        assert "removed 0 files" in server.command("sweep")
        assert "removed 1 files" in server.sweep()
        assert files(server) == before
        assert named(server) == names


def test_f6_a_client_that_leaves_an_upload_to_a_document(scans: Server) -> None:
    """At 1, 50 and 99 percent, of each way to send one: what was there stays, and nothing comes to it."""
    id_ = create(scans, png(300_000))
    before, body = files(scans), form(data_part({}), file_part("pages"), file_part("scan", content=png(8_000_000)))
    document = scans.request("GET", f"{DOCUMENTS}/{id_}").json()
    for method, path in (("POST", DOCUMENTS), ("PUT", f"{DOCUMENTS}/{id_}"), ("PATCH", f"{DOCUMENTS}/{id_}")):
        raw = raw_request(method, path, body, f"x-api-key: {scans.key}")
        for percent in (1, 50, 99):
            with scans.connect() as connection:
                connection.sendall(raw[: len(raw) * percent // 100])
    wait_until(lambda: files(scans) == before, 60)
    assert scans.request("GET", f"{DOCUMENTS}/{id_}").json() == document
    assert scans.database["c_scans"].count_documents({}) == 1


def test_f7_parallel_uploads_to_documents_take_little_memory(scans: Server) -> None:
    create(scans, png(10_000_000))
    base, content = peak_memory(scans.process.pid), png(MAX_FILE_BYTES)
    threads = [threading.Thread(target=create, args=(scans, content)) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert scans.database["files.files"].count_documents({"length": MAX_FILE_BYTES}) == AT_ONCE
    assert peak_memory(scans.process.pid) - base <= AT_ONCE * 8 * MIB
