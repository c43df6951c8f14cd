"""Rules in a manifest: saved after the collections that they are about, and the same ones are left."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from pymongo import MongoClient

from service.errors import ConfigurationError
from service.services import Services
from tests.demo import seed_demo
from tests.seeding.test_seed import Run, counts, run

__all__ = ["run"]

POSTS = """
project: {id: library, name: Library}
collections:
  posts: {schema: {title: {type: string}, status: {type: string}}}
"""
RULES = "{collections: {posts: {read: {status_eq: published}}}}"
EMPTY: dict[str, Any] = {"sets": {}, "users": {}, "assign": {}, "tests": [], "collections": {}}


async def test_rules_are_saved_once_with_the_indexes_that_are_asked_for(
    run: Run, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    database, manifest = mongo[f"{database_prefix}p_library"], f"{POSTS}rule_indexes: true\nrules: {RULES}"
    first = await run(manifest, dry_run=True)
    assert counts(first)["rules"] == {"created": 1}
    assert f"{database_prefix}p_library" not in mongo.list_database_names()
    assert counts(await run(manifest))["rules"] == {"created": 1}
    saved = database["rules"].find_one()
    assert "rule status created_at" in database["c_posts"].index_information()
    assert counts(await run(manifest))["rules"] == {"unchanged": 1}
    assert database["rules"].find_one() == saved


async def test_rules_that_differ_are_shown_and_replaced_and_those_not_named_are_left(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(RULES)
    assert counts(await run(f"{POSTS}rules: rules.yaml"))["rules"] == {"created": 1}
    assert "rules" not in counts(await run(POSTS))
    (tmp_path / "rules.yaml").write_text("{users: {read: users}}")
    shown = await run(f"{POSTS}rules: rules.yaml", dry_run=True)
    assert shown.differences["rules"] == [
        '~ rules library: users: {} -> {"read":"users"}, '
        'collections: {"posts":{"read":{"status_eq":"published"}}} -> {}'
    ]
    assert counts(await run(f"{POSTS}rules: rules.yaml"))["rules"] == {"updated": 1}
    assert counts(await run(f"{POSTS}rules: rules.yaml"))["rules"] == {"unchanged": 1}


@pytest.mark.parametrize("dry_run", [True, False], ids=["dry run", "run"])
@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ("{collections: {posts: {read: {or: [{state_eq: x}]}}}}", "! rules: collections.posts.read.or[0].state_eq: "),
        ("{collections: {pots: {read: users}}}", "! rules: collections.pots: There is no collection of this name"),
        (
            "{tests: [{name: t, as: anyone, action: read, collection: posts, given: {}, expect: allowed}]}",
            "! rules: 1 stored test fails; nothing was changed: t (expected allowed, got refused)",
        ),
    ],
    ids=["field", "collection", "test"],
)
async def test_rules_are_refused_in_one_line_with_the_place(run: Run, rules: str, says: str, dry_run: bool) -> None:
    report = await run(f"{POSTS}rules: {rules}", dry_run=dry_run)
    (line,) = report.refusals["rules"]
    assert line.startswith(says)
    assert counts(report)["rules"] == {"refused": 1}


async def test_rules_that_cannot_be_read_stop_the_seed_before_it_begins(run: Run) -> None:
    with pytest.raises(ConfigurationError) as error:
        await run(f"{POSTS}rules: absent.yaml")
    assert "absent.yaml: cannot be read" in error.value.detail


async def test_in_the_demo_project_everybody_reads_the_catalogue_and_each_user_their_own_notes(
    services: Services,
    emptied: None,
    http: httpx2.AsyncClient,
    mongo: MongoClient[dict[str, Any]],
    database_prefix: str,
) -> None:
    _, report = await seed_demo(services, users=(), files=())
    assert (counts(report)["rules"], report.refused) == ({"created": 1}, 0)
    database = mongo[f"{database_prefix}p_demo"]
    assert "rule owner_id created_at" in database["c_notes"].index_information()
    page = {"x-api-key": (await services.base.keys.create("demo", "publishable", "a page")).key}
    movies = await http.get("/api/collections/movies/documents?limit=1", headers=page)
    assert (movies.status_code, movies.json()["total"]) == (200, 3201)
    notes, ids = "/api/collections/notes/documents", []
    for name in ("Valjean", "Javert"):
        body = {"email": f"{name}@example.com", "password": "les-miserables", "name": name}
        signed_up = (await http.post("/auth-collections/signup", json=body, headers=page)).json()
        headers = {"authorization": f"Bearer {signed_up['access_token']}"}
        added = await http.post(notes, json={"data": {"text": f"of {name}"}}, headers=headers)
        assert added.json()["data"] == {"text": f"of {name}", "owner_id": signed_up["user"]["id"]}
        ids.append(added.json()["id"])
        listed = (await http.get(notes, headers=headers)).json()
        assert [document["id"] for document in listed["documents"]] == ids[-1:]
    assert (await http.get(notes, headers=page)).status_code == 401
