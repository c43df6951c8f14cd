"""`auth-collections key`: the secret and publishable keys of a project."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from pymongo import MongoClient

from faults.commands import Shell
from service.bounds import MAX_KEYS
from service.domain.projects.lookup import CACHE_SECONDS
from service.services import Services
from service.settings import Settings
from tests.conftest import Api

NOBODY = {"email": "nobody@example.com", "password": "correct horse"}


async def status_of_login(api: Api, key: str) -> int:
    """404 as long as the key is good, for there is no such user."""
    answer = await api.http.post("/auth-collections/login", json=NOBODY, headers={"x-api-key": key})
    return answer.status_code


def test_a_key_from_creation_to_revocation(shell: Shell, mongo: MongoClient[Any]) -> None:
    made = shell.json("project", "create", "P", "--id", "p")
    for kind, prefix in (("secret", "ac_p_"), ("publishable", "acp_p_")):
        new = shell.json("key", "create", "p", "--kind", kind, "--name", f"a {kind} one")
        assert new.keys() == {"project_id", "id", "kind", "name", "key"}
        assert new["key"].startswith(prefix)
        listed = shell.json("key", "list", "p")
        assert listed[-1].keys() == {"id", "kind", "name", "created_at", "last_used_at"}
        assert (listed[-1]["id"], listed[-1]["kind"], listed[-1]["name"]) == (new["id"], kind, f"a {kind} one")
    records = list(mongo[f"{shell.environment['DATABASE_PREFIX']}system"]["api_keys"].find())
    assert new["key"] not in str(records)
    assert not [each for each in (made["api_key"], made["publishable_key"], new["key"]) if each in str(listed)]
    assert shell.json("key", "revoke", "p", new["id"]) == {"project_id": "p", "id": new["id"], "revoked": True}
    assert new["id"] not in str(shell.json("key", "list", "p"))


def test_a_new_project_prints_both_keys_and_a_rotation_replaces_the_secret_ones_alone(shell: Shell) -> None:
    printed = shell.run("project", "create", "P", "--id", "p").stdout
    assert "\napi_key: ac_p_" in printed
    assert "\npublishable_key: acp_p_" in printed
    shell.json("key", "create", "p", "--kind", "secret", "--name", "another")
    before = {key["id"]: key["kind"] for key in shell.json("key", "list", "p")}
    assert sorted(before.values()) == ["publishable", "secret", "secret"]
    shell.json("project", "rotate-key", "p")
    after = {key["id"]: key["kind"] for key in shell.json("key", "list", "p")}
    assert sorted(after.values()) == ["publishable", "secret"]
    assert [id_ for id_, kind in before.items() if id_ in after] == [
        id_ for id_, kind in before.items() if kind == "publishable"
    ]


def test_a_project_has_so_many_keys_and_no_more(shell: Shell, mongo: MongoClient[Any]) -> None:
    shell.json("project", "create", "P", "--id", "p")
    keys = mongo[f"{shell.environment['DATABASE_PREFIX']}system"]["api_keys"]
    moment = datetime.now(UTC)
    keys.insert_many(
        [
            {"_id": f"{number:064x}", "project_id": "p", "created_at": moment, "kind": "secret", "name": "x"}
            for number in range(MAX_KEYS - 3)
        ]
    )
    shell.json("key", "create", "p", "--kind", "publishable", "--name", "the last one")
    refused = shell.run("key", "create", "p", "--kind", "publishable", "--name", "one too many")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (f"auth-collections: A project has at most {MAX_KEYS} keys; revoke an unused one\n")
    assert keys.count_documents({"project_id": "p"}) == MAX_KEYS


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("create", "p", "--kind", "private", "--name", "x"), 1, "--kind is secret or publishable"),
        (("create", "p", "--kind", "secret", "--name", ""), 1, "A key's name has 1 to 100 printable characters"),
        (("create", "p", "--kind", "secret"), 2, "--name"),
        (("create", "nobody", "--kind", "secret", "--name", "x"), 1, "There is no project nobody"),
        (("list", "nobody"), 1, "There is no project nobody"),
        (("revoke", "p", "0123456789ab"), 1, "The project p has no key 0123456789ab"),
        (("revoke", "nobody", "0123456789ab"), 1, "There is no project nobody"),
    ],
)
def test_errors_are_one_line(shell: Shell, arguments: tuple[str, ...], status: int, says: str) -> None:
    if arguments[:2] == ("revoke", "p"):
        shell.json("project", "create", "P", "--id", "p")
    result = shell.run("key", *arguments)
    assert (result.returncode, result.stdout) == (status, "")
    assert len(result.stderr.splitlines()) == 1
    assert says in result.stderr


async def test_a_revoked_key_is_refused_at_once_by_the_process_that_revoked_it(api: Api, services: Services) -> None:
    new = await services.base.keys.create(api.project.id, "publishable", "a page")
    assert await status_of_login(api, new.key) == 404
    await services.base.keys.revoke(api.project.id, new.id)
    assert await status_of_login(api, new.key) == 401
    assert await status_of_login(api, api.publishable_key) == 404


async def test_a_revoked_key_is_refused_by_other_processes_within_five_seconds(
    api: Api, services: Services, shell: Shell, settings: Settings
) -> None:
    new = await services.base.keys.create(api.project.id, "secret", "a server")
    assert await status_of_login(api, new.key) == 404
    assert settings.secret_key is not None
    same = {"DATABASE_PREFIX": settings.database_prefix, "SECRET_KEY": settings.secret_key.get_secret_value()}
    revoked = await asyncio.to_thread(shell.run, "key", "revoke", api.project.id, new.id, **same)
    assert revoked.returncode == 0, revoked.stderr
    await asyncio.sleep(CACHE_SECONDS)
    assert await status_of_login(api, new.key) == 401
