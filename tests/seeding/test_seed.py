"""Seeds on a real database: what they make, what a second run changes, what they refuse."""

import io
import json
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from argon2 import PasswordHasher
from PIL import Image
from pymongo import MongoClient

from faults.samples import PNG, png
from service.domain.access.caller import SecretKeyCaller
from service.domain.documents.documents import Documents
from service.domain.files.signed_urls import FileLink
from service.domain.projects.admin import ProjectAdmin
from service.errors import Conflict, ProjectNotFound
from service.seeding.files import FileSeeder
from service.seeding.manifest import read_manifest
from service.seeding.profiles import ProfileSeeder
from service.seeding.references import user_id
from service.seeding.report import Report
from service.seeding.rules import RulesSeeder
from service.seeding.run import AggregationsSeeder, Seeder
from service.seeding.schemas import SchemaSeeder
from service.seeding.users import UserSeeder
from service.services import Services
from tests.conftest import Api
from tests.demo import seed_demo

ARGON2ID = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("correct horse")
BOOKS = """
project: {id: library, name: Library, settings: {PASSWORD_MIN_LENGTH: 6}}
users:
  - rows:
      - {email: Ann@Example.com, password: secret, name: Ann, referred_by_id: bob@example.com}
      - {email: bob@example.com, password: secret, name: Bob}
    references: {referred_by_id: users}
collections:
  authors:
    schema: {name: {type: string, required: true}}
    documents:
      - {key: [name], rows: [{name: Hugo}, {name: Sand}]}
  books:
    schema:
      title: {type: string, required: true, max_length: 20}
      published: {type: datetime}
      copies: {type: integer, default: 1}
      author_id: {type: reference, collection: authors}
    documents:
      - {file: books.csv, key: [title, published], references: {author_id: authors.name}}
"""
CSV = "title,published,copies,author_id\nLes Misérables,1862-03-31,3,Hugo\nIndiana,1832-05-19,,Sand\n"

Run = Callable[..., Awaitable[Report]]


@pytest.fixture
async def run(services: Services, admin: ProjectAdmin, make_api: object, tmp_path: Path) -> Run:
    """Seeds with a manifest's text; `make_api` is asked for because it empties the databases afterwards."""
    assert make_api
    (tmp_path / "books.csv").write_text(CSV)

    async def seed(text: str = BOOKS, *, dry_run: bool = False, migrate: bool = False) -> Report:
        path = tmp_path / "seed.yaml"
        path.write_text(textwrap.dedent(text))
        report = Report(dry_run=dry_run)
        files = FileSeeder(services.accounts, services.files, tmp_path, report)
        rules, aggregations = RulesSeeder(services.rules, report), AggregationsSeeder(services.aggregations, report)
        schemas = SchemaSeeder(services.collections, report, migrate)
        parts = (schemas, services.documents, rules, aggregations, files, tmp_path)
        users = UserSeeder(services.accounts, report)
        profiles = ProfileSeeder(services.accounts.profiles, report, migrate)
        await Seeder(admin, profiles, users, *parts, report).seed(read_manifest(path))
        return report

    return seed


def counts(report: Report) -> dict[str, dict[str, int]]:
    return {kind: dict(counter) for kind, counter in report.counts.items()}


def stored(mongo: MongoClient[dict[str, Any]], prefix: str, collection: str) -> dict[str, dict[str, Any]]:
    return {str(record["_id"]): record for record in mongo[f"{prefix}p_library"][collection].find()}


async def test_a_seed_makes_everything(run: Run, mongo: MongoClient[dict[str, Any]], database_prefix: str) -> None:
    assert counts(await run()) == {
        "project": {"created": 1},
        "users": {"created": 2},
        "collections": {"created": 2},
        "authors": {"created": 2},
        "books": {"created": 2},
    }
    users = {user["email"]: user for user in stored(mongo, database_prefix, "users").values()}
    assert users["ann@example.com"]["data"] == {"name": "Ann", "referred_by_id": users["bob@example.com"]["_id"]}
    assert users["bob@example.com"]["password"].startswith("$2b$04$")
    authors = {id_: record["data"]["name"] for id_, record in stored(mongo, database_prefix, "c_authors").items()}
    books = {record["data"]["title"]: record["data"] for record in stored(mongo, database_prefix, "c_books").values()}
    assert books["Les Misérables"]["published"].isoformat() == "1862-03-31T00:00:00"
    assert authors[books["Les Misérables"]["author_id"]] == "Hugo"
    assert (books["Les Misérables"]["copies"], books["Indiana"]["copies"]) == (3, 1)


async def test_a_second_run_changes_nothing(run: Run, mongo: MongoClient[dict[str, Any]], database_prefix: str) -> None:
    await run()
    before = [stored(mongo, database_prefix, name) for name in ("users", "c_books", "c_authors")]
    again = counts(await run())
    assert {what for counter in again.values() for what in counter} == {"unchanged"}
    assert [stored(mongo, database_prefix, name) for name in ("users", "c_books", "c_authors")] == before


async def test_a_dry_run_changes_nothing_and_shows_the_differences(
    run: Run, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    first = await run(dry_run=True)
    assert f"{database_prefix}p_library" not in mongo.list_database_names()
    assert first.differences["books"] == [
        '+ books ["Les Misérables", "1862-03-31"]',
        '+ books ["Indiana", "1832-05-19"]',
    ]
    await run()
    before = [stored(mongo, database_prefix, name) for name in ("users", "c_authors")]
    changed = BOOKS.replace("name: Bob", "name: Robert, age: 40").replace("PASSWORD_MIN_LENGTH: 6", "SIGNUP_LIMIT: 5")
    report = await run(changed, dry_run=True)
    assert report.differences["users"] == ['~ users bob@example.com: name: "Bob" -> "Robert", age: absent -> 40']
    assert report.differences["project"] == ['~ project library: SIGNUP_LIMIT: absent -> "5"']
    assert [stored(mongo, database_prefix, name) for name in ("users", "c_authors")] == before


async def test_a_changed_manifest_sets_what_differs_and_leaves_the_rest(
    run: Run, mongo: MongoClient[dict[str, Any]], database_prefix: str, tmp_path: Path
) -> None:
    await run()
    mongo[f"{database_prefix}p_library"]["users"].update_many({}, {"$set": {"data.seen": True}})
    (tmp_path / "books.csv").write_text(CSV.replace(",3,", ",9,"))
    report = counts(await run(BOOKS.replace("name: Bob", "name: Robert")))
    assert (report["users"], report["books"]) == ({"updated": 1, "unchanged": 1}, {"updated": 1, "unchanged": 1})
    (bob,) = (user for user in stored(mongo, database_prefix, "users").values() if user["email"] == "bob@example.com")
    assert bob["data"] == {"name": "Robert", "seen": True}


async def test_n15_a_reference_to_an_idna_address_resolves_as_at_signup(
    run: Run, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    report = await run("""
        project: {id: library, name: Library}
        users:
          - rows:
              - {email: Ann@Bücher.Example, password: long enough}
              - {email: bob@example.com, password: long enough, a_id: ann@xn--bcher-kva.example, b_id: ANN@BÜCHER.EXAMPLE}
            references: {a_id: users, b_id: users}
        files: [{user: ann@xn--bcher-kva.example, field: picture, path: absent.png}]
        """)
    assert report.refusals == {"files": ["! files[0]: absent.png: cannot be read: No such file or directory"]}
    users = {user["email"]: user for user in stored(mongo, database_prefix, "users").values()}
    ann = users["ann@bücher.example"]["_id"]
    assert users["bob@example.com"]["data"] == {"a_id": ann, "b_id": ann}


@pytest.mark.parametrize(
    ("before", "after"), [("1", "true"), ("1", "1.0"), ("[0]", "[false]"), ("{a: 1}", "{a: true}")]
)
async def test_n37_a_value_of_another_type_is_another_value(
    run: Run, mongo: MongoClient[dict[str, Any]], database_prefix: str, before: str, after: str
) -> None:
    text = BOOKS.replace("name: Bob", "name: Bob, field: {}")
    await run(text.replace("{}", before))
    assert counts(await run(text.replace("{}", before)))["users"] == {"unchanged": 2}
    assert counts(await run(text.replace("{}", after)))["users"] == {"updated": 1, "unchanged": 1}
    (bob,) = (user for user in stored(mongo, database_prefix, "users").values() if user["email"] == "bob@example.com")
    assert json.dumps(bob["data"]["field"]) == json.dumps(yaml.safe_load(after))


async def test_what_is_cut_short_goes_on_where_it_stopped(
    run: Run, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    await run()
    mongo[f"{database_prefix}p_library"]["users"].delete_one({"email": "ann@example.com"})
    mongo[f"{database_prefix}p_library"]["c_books"].delete_one({"data.title": "Indiana"})
    report = counts(await run())
    assert (report["users"], report["books"]) == ({"created": 1, "unchanged": 1}, {"created": 1, "unchanged": 1})


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"email": "x", "password": "long enough"}, "email: An email address must have an @-sign."),
        ({"email": 5}, "email: must be text"),
        ({"email": "a@b.co"}, "give either password or password_hash"),
        ({"email": "a@b.co", "password": "1234567"}, "Password must have at least 8 characters"),
        ({"email": "a@b.co", "password_hash": "$1$md5"}, "password_hash: must be a hash of bcrypt"),
        ({"email": "a@b.co", "password": "long enough", "oauth_id": "1"}, "oauth_id: oauth_id cannot be set here"),
        (
            {"email": "a@b.co", "password_hash": "$argon2id$v=19$m=1048576,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNo"},
            "password_hash: may cost at most 262144 KiB",
        ),
    ],
)
async def test_a_user_is_refused_with_the_reason(run: Run, row: dict[str, str], reason: str) -> None:
    report = await run(f"project: {{id: p, name: P}}\nusers: [{{rows: [{json.dumps(row)}]}}]")
    assert report.refused == 1
    assert report.refusals["users"][0].startswith(f"! users[0].rows[0]: {reason}")


async def test_a_document_is_refused_with_the_reason_and_the_others_are_stored(run: Run, tmp_path: Path) -> None:
    (tmp_path / "books.csv").write_text(
        "title,published,copies,author_id\n"
        "A title that is much too long,1900-01-01,1,Hugo\nIndiana,1832-05-19,many,Sand\nLelia,1833-01-01,1,Nobody\n"
        "Nanon,1872-01-01,1,Sand\nNanon,1872-01-01,2,Sand\n"
    )
    report = await run()
    assert counts(report)["books"] == {"created": 1, "refused": 4}
    assert sorted(report.refusals["books"]) == [
        "! books.csv:2: title: Must have at most 20 characters",
        '! books.csv:3: copies: "many" is not integer',
        "! books.csv:4: author_id: no authors.name is Nobody",
        '! books.csv:6: ["Nanon", "1872-01-01"] occurs earlier in this source',
    ]


@pytest.mark.parametrize("value", ["{$gt: 0}", "[Hugo]"])
async def test_n37_a_key_cannot_be_an_object(run: Run, value: str) -> None:
    report = await run(BOOKS.replace("{name: Hugo}", f"{{name: {value}}}"))
    place = "! collections.authors.documents[0].rows[0]"
    assert report.refusals["authors"] == [f"{place}: name: is part of the key and cannot be an object or an array"]
    assert counts(report)["authors"] == {"created": 1, "refused": 1}


async def test_a_schema_that_differs_is_refused(run: Run) -> None:
    await run()
    report = await run(BOOKS.replace("max_length: 20", "max_length: 30"))
    assert report.refusals["collections"] == [
        "! collections.books.schema: differs from the one in force; "
        "change it with `seed --migrate` or `schema push` first"
    ]


async def test_a_collection_is_made_live_and_a_manifest_that_says_otherwise_is_refused(
    run: Run, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    live = BOOKS.replace("  authors:\n", "  authors:\n    realtime: true\n")
    await run(live)
    collections = mongo[f"{database_prefix}p_library"]["collections"]
    found = {each["_id"]: each.get("realtime", False) for each in collections.find({})}
    assert found == {"authors": True, "books": False}
    assert counts(await run(live))["collections"] == {"unchanged": 2}
    assert counts(await run())["collections"] == {"unchanged": 2}
    report = await run(live.replace("realtime: true", "realtime: false"))
    assert counts(report)["collections"] == {"refused": 1, "unchanged": 1}


async def test_a_file_is_uploaded_once_and_again_when_its_bytes_change(
    run: Run, mongo: MongoClient[dict[str, Any]], database_prefix: str, tmp_path: Path
) -> None:
    text = BOOKS + "files: [{user: ann@example.com, field: picture, path: a.svg}]\n"
    database = mongo[f"{database_prefix}p_library"]
    (tmp_path / "a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    assert counts(await run(text, dry_run=True))["files"] == {"created": 1}
    assert counts(await run(text))["files"] == {"created": 1}
    assert counts(await run(text))["files"] == {"unchanged": 1}
    (tmp_path / "a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><g/></svg>')
    assert counts(await run(text))["files"] == {"created": 1}
    (file,) = database["files.files"].find()
    ann = database["users"].find_one({"email": "ann@example.com"})
    assert ann is not None
    assert ann["data"]["picture"] == ann["files"]["picture"] == file["_id"]
    assert ann["data"]["name"] == "Ann"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("{user: nobody@example.com, field: picture, path: books.csv}", "user: there is no user nobody@example.com"),
        (
            "{user: ann@example.com, field: picture, path: absent.png}",
            "absent.png: cannot be read: No such file or dir",
        ),
        ("{user: ann@example.com, field: picture, path: books.csv}", 'The file of "picture" must be one of: '),
        ("{user: ann@example.com, field: email, path: fake.png}", "email: email cannot be a file"),
        ("{user: ann@example.com, field: picture, path: fake.png}", 'The file of "picture" is refused: '),
    ],
)
async def test_a_file_is_refused_with_the_reason(run: Run, tmp_path: Path, entry: str, reason: str) -> None:
    (tmp_path / "fake.png").write_text("not a picture")
    report = await run(f"{BOOKS}files: [{entry}]\n")
    assert len(report.refusals["files"]) == 1
    assert report.refusals["files"][0].startswith(f"! files[0]: {reason}")


ALBUMS = """
project: {id: library, name: Library}
collections:
  albums:
    schema:
      title: {type: string, required: true, unique: true}
      cover: {type: file, required: true, types: [png]}
      pages: {type: array, items: {type: file}}
    documents:
      - key: [title]
        rows: [{title: One, cover: a.png, pages: [b.png, a.png]}, {title: Two, cover: b.png}]
"""


async def test_the_files_of_documents_are_uploaded_once_and_again_when_their_bytes_change(
    run: Run, mongo: MongoClient[dict[str, Any]], database_prefix: str, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "b.png").write_bytes(png(300_000))
    first = await run(ALBUMS, dry_run=True)
    assert first.differences["albums"] == ['+ albums ["One"]', '+ albums ["Two"]']
    assert counts(await run(ALBUMS))["albums"] == {"created": 2}
    assert counts(await run(ALBUMS))["albums"] == {"unchanged": 2}
    database = mongo[f"{database_prefix}p_library"]
    albums = {album["data"]["title"]: album["data"] for album in database["c_albums"].find()}
    lengths = {file["_id"]: file["length"] for file in database["files.files"].find()}
    assert [lengths[name] for name in [albums["One"]["cover"], *albums["One"]["pages"]]] == [
        len(PNG),
        300_000,
        len(PNG),
    ]
    (tmp_path / "b.png").write_bytes(png(400_000))
    report = await run(ALBUMS, dry_run=True)
    assert counts(report)["albums"] == {"updated": 2}
    assert counts(await run(ALBUMS))["albums"] == {"updated": 2}
    again = {album["data"]["title"]: album["data"] for album in database["c_albums"].find()}
    lengths = {file["_id"]: file["length"] for file in database["files.files"].find()}
    # The cover of the first stays, and what is replaced is gone.
    assert again["One"]["cover"] == albums["One"]["cover"]
    assert sorted(lengths.values()) == [len(PNG), len(PNG), 400_000, 400_000]
    assert database["uploads"].count_documents({}) == 0


BAD_ALBUMS = [
    ("{title: A, cover: absent.png}", "absent.png: cannot be read: No such file or directory"),
    ("{title: B, cover: 5}", "cover: must be the path of a file, or a list of them"),
    ("{title: C, cover: fake.png}", 'The file of "cover" is refused: '),
    ("{title: D, cover: books.csv}", 'The file of "cover" must be one of: png'),
    ("{title: E, cover: [a.png, a.png]}", "cover: A field may occur only once in a form"),
    ("{title: F, pages: [a.png]}", "cover: "),
    ("{title: G, cover: null}", "cover: "),
]


async def test_files_of_documents_are_refused_with_the_reason_and_the_others_are_stored(
    run: Run, mongo: MongoClient[dict[str, Any]], database_prefix: str, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "fake.png").write_text("not a picture")
    head, _, _ = ALBUMS.partition("        rows: ")
    rows = ", ".join([*(row for row, _ in BAD_ALBUMS), "{title: Z, cover: a.png}"])
    report = await run(f"{head}        rows: [{rows}]\n")
    assert counts(report)["albums"] == {"refused": len(BAD_ALBUMS), "created": 1}
    found = sorted(report.refusals["albums"])
    for number, (_, reason) in enumerate(BAD_ALBUMS):
        assert found[number].startswith(f"! collections.albums.documents[0].rows[{number}]: {reason}")
    assert mongo[f"{database_prefix}p_library"]["files.files"].count_documents({}) == 1


async def test_a_file_is_no_part_of_a_key(run: Run) -> None:
    report = await run(ALBUMS.replace("key: [title]", "key: [title, cover]"))
    assert report.refusals["albums"][0].endswith("cover: is a file and cannot be part of the key")


async def test_an_argon2id_hash_is_verified_at_login_and_replaced_by_bcrypts(api: Api) -> None:
    await api.signup()
    api.database["users"].update_one({}, {"$set": {"password": ARGON2ID}})
    assert (await api.login(password="wrong horse")).status_code == 401
    assert api.database["users"].find_one()["password"] == ARGON2ID  # type: ignore[index]
    assert (await api.login()).status_code == 200
    assert api.database["users"].find_one()["password"].startswith("$2b$04$")  # type: ignore[index]
    assert (await api.login()).status_code == 200


async def test_a_password_longer_than_bcrypt_reads_keeps_its_argon2id_hash(api: Api) -> None:
    password = "correct horse " * 8
    await api.signup()
    hashed = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(password)
    api.database["users"].update_one({}, {"$set": {"password": hashed}})
    assert (await api.login(password=password)).status_code == 200
    assert api.database["users"].find_one()["password"] == hashed  # type: ignore[index]


async def thumbnail_size(services: Services) -> tuple[int, int]:
    """The size of the thumbnail of one of the demo's portraits."""
    project = await services.base.projects.by_id("demo")
    valjean = {"user_id": [user_id("demo", "valjean@example.com")]}
    (found,) = await Documents(services.documents.of_server(SecretKeyCaller(project), "portraits")).find_by_values(
        valjean
    )
    thumb, _ = await services.variants.find_readable(found.data["picture"], FileLink(variant="thumb"))
    pieces = await services.files.read(project, thumb, 0, thumb.length)
    return Image.open(io.BytesIO(b"".join([piece async for piece in pieces]))).size


async def test_the_demo_appears_when_it_is_whole_and_what_was_cut_short_is_continued(
    services: Services, emptied: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cut(*_: object) -> None:
        raise KeyError

    with monkeypatch.context() as patched:
        patched.setattr(Seeder, "_collection", cut)
        with pytest.raises(KeyError):
            await seed_demo(services, files=())
    with pytest.raises(ProjectNotFound):
        await services.base.admin.find("demo")
    key, report = await seed_demo(services, files=())
    assert key.startswith("ac_demo_")
    assert counts(report)["users"] == {"unchanged": 77}
    assert counts(report)["movies"] == {"created": 3201}
    assert counts(report)["portraits"] == {"created": 77}
    assert await thumbnail_size(services) == (48, 48)
    with pytest.raises(Conflict):
        await seed_demo(services, files=())


async def test_a_user_larger_than_the_bound_is_refused_and_the_others_are_stored(run: Run, tmp_path: Path) -> None:
    """Within 1 MiB of JSON, and larger as MongoDB keeps it."""
    rows = [
        {"email": "big@example.com", "password": "long enough", "x": ["y" * 16] * 45_000},
        {"email": "small@example.com", "password": "long enough"},
    ]
    (tmp_path / "users.jsonl").write_text("\n".join(map(json.dumps, rows)))
    report = await run("project: {id: p, name: P}\nusers: [{file: users.jsonl}]")
    (refusal,) = report.refusals["users"]
    assert "The data of a user may have at most 1048576 bytes" in refusal
    assert counts(report)["users"] == {"created": 1, "refused": 1}


@pytest.mark.parametrize("password", ["password1", "ann@example.com", "LIBRARY"])
async def test_a_password_that_the_project_refuses_is_refused_in_a_seed(run: Run, password: str) -> None:
    checking = BOOKS.replace("PASSWORD_MIN_LENGTH: 6", "PASSWORD_MIN_LENGTH: 6, PASSWORD_CHECK: common")
    report = await run(
        checking.replace("email: Ann@Example.com, password: secret", f"email: Ann@Example.com, password: {password}")
    )
    assert counts(report)["users"] == {"created": 1, "refused": 1}


async def test_a_migration_repairs_documents_and_brings_the_new_ones(run: Run, mongo: MongoClient[Any]) -> None:
    await run()
    changed = BOOKS.replace(
        "      copies: {type: integer, default: 1}\n",
        "      copies: {type: integer, default: 1}\n      shelf: {type: string, required: true, default: A}\n",
    )
    dry = await run(changed, dry_run=True, migrate=True)
    assert dry.refused == 0
    (line,) = dry.differences["collections"]
    assert line.startswith("~ collections books: shelf: absent -> ")
    assert line.endswith("(repairs 2 documents)")
    report = await run(changed, migrate=True)
    assert counts(report)["collections"] == {"unchanged": 1, "updated": 1}
    assert counts(report)["books"] == {"unchanged": 2}
    assert counts(await run(changed))["collections"] == {"unchanged": 2}


async def test_a_migration_that_documents_break_changes_nothing(run: Run) -> None:
    await run()
    breaking = BOOKS.replace("copies: {type: integer, default: 1}", "copies: {type: integer, max: 2}")
    for dry_run in (True, False):
        report = await run(breaking, dry_run=dry_run, migrate=True)
        (refusal,) = report.refusals["collections"]
        assert refusal.startswith("! collections.books.schema: 1 document breaks the new schema; nothing was changed")
        assert refusal.endswith("copies: Must be at most 2")
    assert counts(await run())["collections"] == {"unchanged": 2}


async def test_a_dry_run_of_a_migration_knows_the_collections_that_would_be_made(run: Run) -> None:
    await run()
    text = BOOKS.replace("  books:\n", "  shelves:\n    schema: {name: {type: string}}\n  books:\n").replace(
        "      author_id:", "      shelf_id: {type: reference, collection: shelves}\n      author_id:"
    )
    dry, made = await run(text, dry_run=True, migrate=True), await run(text, migrate=True)
    assert counts(dry)["collections"] == counts(made)["collections"] == {"created": 1, "unchanged": 1, "updated": 1}


async def test_a_dry_run_of_a_new_collection_finds_what_is_wrong_with_its_schema(run: Run) -> None:
    await run()
    bad = BOOKS.replace("  books:\n", "  bad:\n    schema: {n: {type: integer, default: x}}\n  books:\n")
    (refusal,) = (await run(bad, dry_run=True)).refusals["collections"]
    assert refusal == "! collections.bad.schema: schema.n.default: Must be a whole number"
