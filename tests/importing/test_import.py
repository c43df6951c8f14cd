"""Imports into a real project: what fits comes in under its id, the rest is listed, and a second run changes nothing."""

import gzip
import json
import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import bson
import pytest
from bson import Binary, Decimal128, ObjectId

from faults.commands import Shell
from service.errors import ConfigurationError, Unavailable
from service.importing import documents as document_imports
from service.importing.run import ImportChoices, run_import
from service.importing.sources import ImportSource
from service.importing.sources.firebase import ISSUERS as ISSUERS_OF_FIREBASE
from service.importing.sources.pocketbase import ISSUERS as ISSUERS_OF_POCKETBASE
from service.providers.registration import presets
from service.services import Services
from tests.conftest import Api

POCKETBASE = Path(__file__).parent / "pocketbase"
HASH = "$2b$04$abcdefghijklmnopqrstuuUyHdxh6SBSnLbTHhvkpS9gTAyVD8oYy"
Run = Callable[..., Awaitable[Mapping[str, Any]]]


@pytest.fixture
def run(services: Services, api: Api, tmp_path: Path) -> Run:
    async def run(source: str, path: Path | list[Path], **options: Any) -> Mapping[str, Any]:
        of_source = {"collection", "mapping", "database", "users", "hash_config"} & options.keys()
        asked = {name: options.pop(name) for name in of_source}
        choices = ImportChoices(folder=tmp_path / "report", **options)
        wanted = ImportSource(path if isinstance(path, list) else [path], lambda *_: None, **asked)
        found = await run_import(services, api.project.id, source, wanted, choices, lambda *_: None)
        services.base.projects.forget_all()
        return found

    return run


def test_identities_come_with_the_issuers_of_the_presets() -> None:
    theirs = {name: issuer for issuer, name in ISSUERS_OF_FIREBASE.values()} | ISSUERS_OF_POCKETBASE
    ours = {name: each.issuer or each.authorize_url for name, each in presets().items() if name in theirs}
    assert theirs == ours


def lines(path: Path, *rows: Any) -> Path:
    path.write_bytes(b"".join(row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows))
    return path


def rejects(tmp_path: Path, target: str) -> list[dict[str, Any]]:
    path = tmp_path / "report" / "rejects" / f"{target}.ndjson"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def stored(api: Api, collection: str, id_: str) -> dict[str, Any]:
    answer = await api.request("GET", f"/api/collections/{collection}/documents/{id_}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_g16_users_keep_ids_and_hashes_and_odd_ones_are_rejected_with_their_line(
    api: Api, run: Run, tmp_path: Path
) -> None:
    file = lines(
        tmp_path / "users.ndjson",
        {
            "id": "ann",
            "email": "Ann@Example.com",
            "password_hash": scrypt(),
            "data": {"name": "Ann"},
            "roles": ["admin"],
        },
        b"\n",
        {"id": "two", "email": "ANN@example.com"},
        {"id": "ann", "email": "third@example.com"},
        {"id": "../x", "email": "path@example.com", "created_at": "2020-01-31T12:00:00Z"},
        {"id": "op", "email": "op@example.com", "data": {"$where": "1"}},
        {"id": "dear", "email": "dear@example.com", "password_hash": "$2b$31$" + "a" * 53},
        {"id": "md5", "email": "md5@example.com", "password_hash": "$1$salt$hash"},
        {"id": "none"},
        b'{"email": "cut\n',
        b'{"id": "deep", "email": "d@example.com", "data": ' + b'{"a":' * 120 + b"1" + b"}" * 121 + b"\n",
        b'{"id": "\xff"}\n',
        b'{"id": "long", "data": {"text": "' + b"x" * 1_100_000 + b'"}}\n',
    )
    found = await run("users", file)
    assert found["targets"]["users"] == {"read": 12, "created": 3, "already_there": 0, "updated": 0, "rejected": 9}
    assert found["users"]["hashes"] == {"scrypt": 1}
    assert found["users"]["without_password"] == 2
    rejected = {each["line"]: each["errors"][0]["type"] for each in rejects(tmp_path, "users")}
    assert rejected == {
        3: "duplicate_value",
        4: "repeated",
        6: "field_name",
        7: "value_error",
        9: "missing",
        10: "json_invalid",
        11: "too_deep",
        12: "json_invalid",
        13: "too_long",
    }
    answer = await api.login("ann@example.com")
    assert answer.status_code == 200, answer.text
    assert (answer.json()["user"]["id"], answer.json()["user"]["roles"]) == ("ann", ["admin"])
    other = api.database["users"].find_one({"email": "path@example.com"})
    assert other is not None
    assert len(other["_id"]) == 24
    assert other["created_at"].isoformat() == "2020-01-31T12:00:00"
    # Stored users are there already; the rejected ones are rejected again.
    again = await run("users", file)
    assert again["targets"]["users"]["created"] == 0
    assert again["targets"]["users"]["already_there"] == 3


def scrypt() -> str:
    import base64
    import hashlib

    digest = hashlib.scrypt(b"correct horse", salt=b"saltsalt", n=16, r=8, p=1, dklen=32)
    return f"$scrypt$ln=4,r=8,p=1$c2FsdHNhbHQ${base64.b64encode(digest).decode()}"


async def test_documents_keep_ids_and_times_and_references_may_come_later(api: Api, run: Run, tmp_path: Path) -> None:
    schema = {
        "title": {"type": "string", "required": True, "unique": True},
        "next_id": {"type": "reference", "collection": "parts"},
        "last_id": {"type": "reference", "collection": "parts", "nullable": True},
        "due": {"type": "datetime"},
    }
    made = await api.request("POST", "/api/collections", json={"name": "parts", "schema": {}})
    assert made.status_code == 201
    made = await api.request("PATCH", "/api/collections/parts", json={"schema": schema})
    assert made.status_code == 200, made.text
    file = lines(
        tmp_path / "parts.ndjson",
        {"id": "a", "created_at": "2020-01-31T12:00:00Z", "data": {"title": "A", "next_id": "b", "due": "2026-01-31"}},
        {"id": "b", "data": {"title": "B", "next_id": "gone", "last_id": "gone"}},
        {"id": "c", "data": {"title": "A"}},
        {"id": "d", "data": {"titel": "D"}},
    )
    found = await run("ndjson", file, collection="parts")
    assert found["targets"]["parts"] == {"read": 4, "created": 2, "already_there": 0, "updated": 0, "rejected": 2}
    first = await stored(api, "parts", "a")
    assert first["created_at"] == "2020-01-31T12:00:00.000Z"
    assert first["data"] == {"title": "A", "next_id": "b", "due": "2026-01-31T00:00:00.000Z"}
    assert (await stored(api, "parts", "b"))["data"] == {"title": "B", "last_id": None}
    assert [(each["id"], each["field"]) for each in found["dangling"]] == [
        ("b", "next_id"),
        ("b", "last_id"),
    ] or sorted((each["id"], each["field"]) for each in found["dangling"]) == [("b", "last_id"), ("b", "next_id")]
    assert {each["line"]: each["errors"][0]["type"] for each in rejects(tmp_path, "parts")} == {
        3: "duplicate_value",
        4: "extra_forbidden",
    }


async def test_g17_a_killed_run_goes_on_and_changes_of_clients_stay(
    api: Api, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"id": f"r{number}", "data": {"n": number, "next": f"r{number + 1}"}} for number in range(1_200)]
    file = lines(tmp_path / "rows.ndjson", *rows)
    settled = document_imports.DocumentImport.store
    calls = 0

    async def fail(self: Any, *arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise Unavailable("killed")
        await settled(self, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(document_imports.DocumentImport, "store", fail)
        with pytest.raises(Unavailable):
            await run("ndjson", file, collection="rows", infers=True)
    assert api.database["c_rows"].count_documents({}) == 500
    answer = await api.request("PATCH", "/api/collections/rows/documents/r7", json={"data": {"n": -1}})
    assert answer.status_code == 200, answer.text
    found = await run("ndjson", file, collection="rows")
    assert found["targets"]["rows"] == {
        "read": 1_200,
        "created": 700,
        "already_there": 500,
        "updated": 0,
        "rejected": 0,
    }
    assert api.database["c_rows"].count_documents({}) == 1_200
    assert (await stored(api, "rows", "r7"))["data"]["n"] == -1


async def test_a_dry_run_judges_and_writes_nothing(api: Api, run: Run, tmp_path: Path) -> None:
    audit = api.database.client[api.database.name.rpartition("p_")[0] + "system"]["audit"]
    await api.request("POST", "/api/collections", json={"name": "notes", "schema": {"n": {"type": "integer"}}})
    file = lines(tmp_path / "notes.ndjson", {"id": "a", "data": {"n": 1}}, {"id": "b", "data": {"n": "x"}})
    found = await run("ndjson", file, collection="notes", dry_run=True)
    assert found["targets"]["notes"] == {"read": 2, "created": 1, "already_there": 0, "updated": 0, "rejected": 1}
    assert api.database["c_notes"].count_documents({}) == 0
    new = await run("ndjson", file, collection="other", dry_run=True, infers=True)
    assert new["targets"]["other"]["created"] == 2
    assert (await api.request("GET", "/api/collections/other")).status_code == 404
    with pytest.raises(ConfigurationError, match="use --infer-schema"):
        await run("ndjson", file, collection="other")
    assert audit.count_documents({"project_id": api.project.id, "action": {"$regex": "^import"}}) == 0


async def test_csv_is_inferred_by_its_cells(api: Api, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "cities.csv"
    file.write_text(
        '\ufeffid,name,people,since\nparis,"Paris, France",2100000,2020-01-31\nrome,Rome,,2021-02-28\nbad\n'
    )
    found = await run("csv", file, collection="cities", infers=True, detects_dates=True)
    assert found["targets"]["cities"] == {"read": 3, "created": 2, "already_there": 0, "updated": 0, "rejected": 1}
    definition = (await api.request("GET", "/api/collections/cities")).json()["schema"]
    assert {name: each["type"] for name, each in definition.items()} == {
        "name": "string",
        "people": "integer",
        "since": "datetime",
    }
    assert (await stored(api, "cities", "paris"))["data"]["people"] == 2_100_000


@pytest.fixture(params=["folder", "gzip", "archive"])
def dump(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A dump of people and of orders, in the forms of mongodump."""
    people = [
        {
            "_id": ObjectId("66f0c1a2b3c4d5e6f7a8b9c2"),
            "mail": "Ann@example.com",
            "pw": HASH,
            "born": datetime(2000, 1, 31, tzinfo=UTC),
            "tags": ["a"],
        }
    ]
    orders = [
        {"_id": 1, "total": Decimal128("12.5"), "raw": Binary(b"ab"), "a.b": 1, "$x": 2, "deep": {"y.z": [ObjectId()]}},
        {"_id": "o2", "total": Decimal128("0.1000000000000000000001"), "f": float("inf")},
    ]
    if request.param == "archive":
        path = tmp_path / "dump.archive"
        head = [
            {"server_version": "6.0.5"},
            *({"db": "shop", "collection": name, "metadata": "{}"} for name in ("people", "orders")),
        ]
        end = b"\xff\xff\xff\xff"
        blocks = b"".join(
            bson.encode({"db": "shop", "collection": name, "EOF": False})
            + b"".join(map(bson.encode, rows))
            + end
            + bson.encode({"db": "shop", "collection": name, "EOF": True})
            + end
            for name, rows in (("people", people), ("orders", orders))
        )
        path.write_bytes(b"\x6d\xe2\x99\x81" + b"".join(map(bson.encode, head)) + end + blocks)
        return path
    folder = tmp_path / "dump" / "shop"
    folder.mkdir(parents=True)
    for name, rows in (("people", people), ("orders", orders)):
        raw = b"".join(map(bson.encode, rows))
        if request.param == "gzip":
            (folder / f"{name}.bson.gz").write_bytes(gzip.compress(raw))
        else:
            (folder / f"{name}.bson").write_bytes(raw)
    return tmp_path / "dump"


async def test_a_dump_of_mongodb_comes_with_its_values_and_its_users(api: Api, run: Run, dump: Path) -> None:
    users = {"collection": "people", "email": "mail", "password_hash": "pw"}
    found = await run("mongodump", dump, infers=True, mapping={"users": users})
    assert {name: each["created"] for name, each in found["targets"].items()} == {"users": 1, "orders": 2}
    ann = api.database["users"].find_one({})
    assert ann is not None
    assert (ann["_id"], ann["email"], ann["password"]) == ("66f0c1a2b3c4d5e6f7a8b9c2", "ann@example.com", HASH)
    assert ann["data"] == {"born": "2000-01-31T00:00:00.000Z", "tags": ["a"]}
    first = (await stored(api, "orders", "1"))["data"]
    assert (first["total"], first["raw"], first["a_b"], first["x"]) == (12.5, "YWI=", 1, 2)
    assert list(first["deep"]) == ["y_z"]
    assert (await stored(api, "orders", "o2"))["data"] == {"total": "0.1000000000000000000001", "f": "inf"}
    assert {(each["field"], each["kind"]) for each in found["losses"]} >= {
        ("total", "decimal"),
        ("f", "number"),
        ("a_b", "name"),
    }


@pytest.fixture
def pocketbase(tmp_path: Path) -> Path:
    """The data folder of a real PocketBase 0.40, see `make_pocketbase`."""
    folder = tmp_path / "pb_data"
    shutil.copytree(POCKETBASE / "storage", folder / "storage")
    with closing(sqlite3.connect(folder / "data.db")) as database:
        database.executescript(gzip.decompress((POCKETBASE / "data.sql.gz").read_bytes()).decode())
    return folder


@pytest.mark.parametrize("form", ["folder", "zip"])
async def test_a_pocketbase_comes_with_schemas_users_references_and_files(
    api: Api, run: Run, pocketbase: Path, tmp_path: Path, form: str
) -> None:
    source = pocketbase if form == "folder" else Path(shutil.make_archive(str(tmp_path / "backup"), "zip", pocketbase))
    found = await run("pocketbase", source)
    assert {name: each["created"] for name, each in found["targets"].items()} == {"users": 2, "tags": 1, "posts": 2}
    assert found["files"] == {"created": 1, "refused": 0}
    assert ("titles", "not_imported") in {
        (each["target"].removeprefix("view "), each["kind"]) for each in found["losses"]
    }
    answer = await api.login("ann@example.com")
    assert answer.status_code == 200, answer.text
    user = answer.json()["user"]
    assert (user["data"]["name"], user["email_verified"]) == ("Ann", True)
    listed = (await api.request("GET", "/api/collections/posts/documents?slug_eq=first&populate=author")).json()
    (post,) = listed["documents"]
    data = post["data"]
    assert data["author"]["id"] == data["author_id"] == user["id"]
    assert (data["stars"], data["price"], data["live"], data["state"]) == (5, 1.5, True, "public")
    assert data["due"] == "2026-01-31T12:00:00.000Z"
    assert data["extra"] == {"a": [1, None]}
    assert data["place"] == {"lon": 2.35, "lat": 48.85}
    (tag,) = data["labels"]
    assert (await stored(api, "tags", tag))["data"] == {"label": "new"}
    cover = await api.http.get(data["cover"])
    assert cover.content == next(POCKETBASE.rglob("cover*")).read_bytes()
    definition = (await api.request("GET", "/api/collections/posts")).json()["schema"]
    assert definition["slug"] == {"type": "string", "unique": True}
    assert definition["title"] == {"type": "string", "required": True}
    # A second run changes nothing.
    versions = {each["_id"]: each["version"] for each in api.database["c_posts"].find()}
    again = await run("pocketbase", source)
    assert {name: each["already_there"] for name, each in again["targets"].items()} == {
        "users": 2,
        "tags": 1,
        "posts": 2,
    }
    assert {each["_id"]: each["version"] for each in api.database["c_posts"].find()} == versions


# Firebase's own example (github.com/firebase/scrypt, README): the parameters of a project, and a user.
HASH_CONFIG = """hash_config {
  algorithm: SCRYPT,
  base64_signer_key: jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==,
  base64_salt_separator: Bw==,
  rounds: 8,
  mem_cost: 14,
}"""
FIREBASE_USER = {
    "localId": "Uid28characters",
    "email": "ann@example.com",
    "emailVerified": True,
    "passwordHash": "lSrfV15cpx95_sZS2W9c9Kp6i_LVgQNDNC_qzrCnh1SAyZvqmZqAjTdn3aoItz-VHjoZilo78198JAdRuid5lQ==",
    "salt": "42xEC-ixf3L2lw==",
    "displayName": "Ann",
    "createdAt": "1580472000000",
    "customAttributes": '{"plan":"pro"}',
    "providerUserInfo": [
        {"providerId": "google.com", "rawId": "108", "email": "ann@example.com"},
        {"providerId": "twitter.com", "rawId": "9"},
    ],
    "mfaInfo": [{"phoneInfo": "+1"}],
}


async def test_users_of_firebase_keep_passwords_and_its_documents_their_places(
    api: Api, run: Run, tmp_path: Path
) -> None:
    export, config = tmp_path / "users.json", tmp_path / "hash.txt"
    export.write_text(json.dumps({"users": [FIREBASE_USER, {"localId": "anonymous"}]}))
    config.write_text(HASH_CONFIG)
    root = "projects/p/databases/(default)/documents"
    fields = {
        "title": {"stringValue": "First"},
        "stars": {"integerValue": "5"},
        "at": {"timestampValue": "2026-01-31T12:00:00.123456Z"},
        "place": {"geoPointValue": {"latitude": 48.85, "longitude": 2.35}},
        "tags": {"arrayValue": {"values": [{"stringValue": "a"}, {"nullValue": None}]}},
        "meta": {"mapValue": {"fields": {"a": {"booleanValue": True}}}},
        "next": {"referenceValue": f"{root}/posts/p1/comments/c1"},
    }
    file = lines(
        tmp_path / "firestore.ndjson",
        {"name": f"{root}/posts/p1/comments/c1", "fields": {"text": {"stringValue": "Hi"}}},
        {"name": f"{root}/posts/p1", "fields": fields, "createTime": "2020-01-31T12:00:00Z"},
    )
    found = await run("firebase", [file, export], infers=True, hash_config=config)
    counts = {name: (each["created"], each["rejected"]) for name, each in found["targets"].items()}
    assert counts == {"users": (1, 1), "posts": (1, 0), "posts__comments": (1, 0)}
    assert (found["users"]["hashes"], found["users"]["mfa_lost"]) == ({"fbscrypt": 1}, ["Uid28characters"])
    assert {(each["kind"], *each["examples"]) for each in found["losses"]} == {("provider", "twitter.com")}
    stored_user = api.database["users"].find_one({})
    assert stored_user is not None
    assert "jxspr8" not in str(stored_user)
    assert [each["subject"] for each in stored_user["identities"]] == ["108"]
    answer = await api.login(password="user1password")
    assert answer.status_code == 200, answer.text
    assert api.database["users"].find_one({})["password"].startswith("$2b$04$")  # type: ignore[index]
    post = await stored(api, "posts", "p1")
    assert post["created_at"] == "2020-01-31T12:00:00.000Z"
    data = post["data"]
    assert (data["stars"], data["at"], data["tags"]) == (5, "2026-01-31T12:00:00.123Z", ["a", None])
    assert (data["place"], data["meta"]) == ({"latitude": 48.85, "longitude": 2.35}, {"a": True})
    comment = await stored(api, "posts__comments", data["next"])
    assert comment["data"] == {"text": "Hi", "posts_id": "p1"}
    with pytest.raises(ConfigurationError, match="not the hash configuration"):
        await run("firebase", export, hash_config=file)


async def test_g6_an_archive_of_pocketbase_cannot_write_elsewhere(run: Run, tmp_path: Path) -> None:
    import zipfile

    path = tmp_path / "backup.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data.db", b"")
        archive.writestr("storage/../../escaped", b"x")
    with pytest.raises(ConfigurationError, match="leads out of it"):
        await run("pocketbase", path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.db", bytes(300 * 1_048_576))
    with pytest.raises(ConfigurationError, match="suspicious ratio"):
        await run("pocketbase", path)
    (tmp_path / "data.db").write_bytes(b"no database")
    with pytest.raises(ConfigurationError, match="not a database"):
        await run("pocketbase", tmp_path)


def test_the_command_prints_counts_and_has_a_status_for_rejected_records(shell: Shell, tmp_path: Path) -> None:
    shell.json("project", "create", "Shop", "--id", "shop")
    people = tmp_path / "people.csv"
    people.write_text("id,email,email_verified,data.name\none,one@example.com,true,One\ntwo,,,Two\n")
    command = ["import", "users", str(people), "--project", "shop", "--report", str(tmp_path / "report")]
    first = shell.run(*command)
    assert (first.returncode, first.stdout.splitlines()[0]) == (3, "users: 2 read, 1 created, 1 rejected")
    (rejected,) = rejects(tmp_path, "users")
    assert rejected["record"] == {"id": "two", "data": {"name": "Two"}}
    assert (tmp_path / "report" / "rejects" / "users.ndjson").stat().st_mode & 0o777 == 0o600
    found = shell.json(*command, "--placeholder-email", "example.org")
    assert found["targets"]["users"] == {"read": 2, "created": 1, "already_there": 1, "updated": 0, "rejected": 0}
    assert shell.json("user", "show", "shop", "two@example.org")["email_verified"] is False
    refused = shell.run("import", "nothing", str(people), "--project", "shop")
    assert (refused.returncode, "There is no source nothing" in refused.stderr) == (1, True)
