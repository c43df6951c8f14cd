"""Files of documents over a real socket: rows F5, F6 and F7 as for users."""

import threading

import pytest

from faults.samples import FORM_TYPE, data_part, file_part, form, png
from faults.server import Server, peak_memory, wait_until
from faults.uploads import raw_request
from service.bounds import MAX_FILE_BYTES

DOCUMENTS = "/api/collections/scans/documents"
SCHEMA = {"scan": {"type": "file"}, "pages": {"type": "array", "items": {"type": "file"}}}
MIB = 1_048_576
AT_ONCE = 2


@pytest.fixture
def scans(server: Server) -> Server:
    """A collection of its own, which goes with the files of the test."""
    answer = server.request("POST", "/api/collections", json={"name": "scans", "schema": SCHEMA})
    assert answer.status_code == 201, answer.text
    return server


def create(server: Server, content: bytes) -> str:
    """The id of a document with one file."""
    answer = server.request("POST", DOCUMENTS, content=form(file_part("scan", content=content)), headers=FORM_TYPE)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


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
