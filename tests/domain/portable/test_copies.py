"""A project under another id has the same records, files and keys of its own, and reaches no user by mail."""

from email.headerregistry import Address
from typing import Any

import pytest
from pymongo import MongoClient

from service.domain.mail_flows.outgoing import MailRoutes
from service.domain.portable.cloning import clone_project
from service.domain.portable.restoring import Choices, Restored
from service.domain.portable.taking import Wanted
from service.domain.projects.secrets import SecretBox, place_of_totp
from service.errors import Conflict
from service.mail.servers import read_server
from service.schema.values import now
from service.services import Services
from tests.conftest import Api
from tests.domain.portable.site import BOOKS, forms, portable_of, records, use_fully

COPY = "a-copy"
SECRETS = {"SMTP_URL": "smtps://u:p@mail.example:465", "MAIL_FROM": "a@b.example", "CAPTCHA_SECRET": "hidden"}


@pytest.fixture
async def used(api: Api, services: Services) -> Api:
    await use_fully(api)
    await services.journal.write()
    return api


@pytest.fixture
def record_of(mongo: MongoClient[Any], database_prefix: str) -> Any:
    """The stored record of a project."""
    return lambda project_id: mongo[f"{database_prefix}system"]["projects"].find_one({"_id": project_id})


async def clone(services: Services, used: Api, *, is_empty: bool = False, **choices: Any) -> tuple[Restored, Api]:
    wanted = Wanted(used.project.id, is_empty=is_empty)
    restored = await clone_project(portable_of(services), wanted, COPY, Choices(**choices))
    assert restored.new_keys is not None
    project = await services.base.admin.find(COPY)
    name = used.database.name.removesuffix(used.project.id) + COPY
    return restored, Api(project, restored.new_keys.secret, used.http, used.database.client[name])


def renamed(value: Any, before: str, after: str) -> Any:
    """The same with each name of a file under the other id."""
    if isinstance(value, dict):
        return {name: renamed(each, before, after) for name, each in value.items()}
    if isinstance(value, list):
        return [renamed(each, before, after) for each in value]
    is_name = isinstance(value, str) and value.startswith(f"{before}-")
    return after + value.removeprefix(before) if is_name else value


async def test_records_are_the_same_and_files_are_its_own(used: Api, services: Services) -> None:
    token = (await used.login()).json()["access_token"]
    await services.journal.write()
    await services.sessions.sightings.write()
    before = records(used)
    _, copy = await clone(services, used)
    assert records(copy) == renamed(before, used.project.id, COPY)
    shapes = forms(used)
    assert {name: each for name, each in forms(copy).items() if name in before} == {
        name: shapes[name] for name in before
    }
    assert len(before["files.files"]) == 2
    for file in before["files.files"]:
        one = await used.http.get(f"/files/{file['_id']}")
        other = await used.http.get(f"/files/{renamed(file['_id'], used.project.id, COPY)}")
        assert (other.status_code, other.content) == (200, one.content)
    shown = (await copy.request("GET", BOOKS)).text
    assert (f"/files/{COPY}-" in shown, used.project.id in shown) == (True, False)
    assert (await copy.login()).status_code == 200
    assert (await used.as_user(token, "GET", "/auth-collections/user")).status_code == 200
    assert (await used.request("GET", BOOKS)).status_code == 200


async def test_g12_a_copy_sends_no_mail_and_has_no_secret_that_was_not_asked_for(
    used: Api, services: Services, record_of: Any
) -> None:
    await services.base.admin.change(used.project.id, SECRETS)
    restored, copy = await clone(services, used)
    settings = record_of(COPY)["settings"]
    assert restored.needs == ["CAPTCHA_SECRET"]
    assert (settings["MAIL_DELIVERY"], settings.keys() & SECRETS.keys()) == ("keep", set())
    routes = MailRoutes(read_server("smtp://localhost"), Address("", "a", "b.example"))
    source = await services.base.admin.find(used.project.id)
    assert (routes.server_of(copy.project), routes.server_of(source) is None) == (None, False)
    assert str(copy.project.signing_key.kid).startswith(f"{COPY}.")


async def test_secrets_that_were_asked_for_open_under_the_other_id(used: Api, services: Services) -> None:
    await services.base.admin.change(used.project.id, SECRETS)
    preset = {"CLIENT_ID": "one", "CLIENT_SECRET": "two"}
    await services.base.providers.set(used.project.id, "google", "google", preset)
    restored, copy = await clone(services, used, with_secrets=True, name="Another")
    secret = copy.project.settings.captcha_secret
    assert (restored.needs, copy.project.name) == ([], "Another")
    assert secret is not None
    assert secret.get_secret_value() == "hidden"
    assert copy.project.providers.keys() == {"google"}


async def test_an_authenticator_app_of_a_user_is_the_same_under_the_other_id(used: Api, services: Services) -> None:
    box, factor_id = services.base.secret_box, "f" * 24
    sealed = box.seal("JBSWY3DPEHPK3PXP", place_of_totp(used.project.id, factor_id))
    used.database["users"].update_one({}, {"$set": {"totp": {"id": factor_id, "sealed": sealed, "step": 0}}})
    _, copy = await clone(services, used)
    totp = (copy.database["users"].find_one({}) or {})["totp"]
    assert box.open(totp["sealed"], place_of_totp(COPY, factor_id)) == "JBSWY3DPEHPK3PXP"


async def test_g14_an_app_that_no_secret_key_here_opens_stays_and_lets_no_user_in(used: Api) -> None:
    """Such a factor comes with a backup of another deployment."""
    totp: dict[str, Any] = {"id": "f" * 24, "name": "phone", "step": 0, "created_at": now(), "last_used_at": now()}
    sealed = SecretBox(b"o" * 32).seal("JBSWY3DPEHPK3PXP", place_of_totp(used.project.id, totp["id"]))
    used.database["users"].update_one({}, {"$set": {"totp": {**totp, "sealed": sealed}}})
    asked = await used.login()
    assert asked.json()["code"] == "mfa_required"
    proof = {"flow_id": asked.json()["flow_id"], "totp": "123456"}
    refused = await used.request("POST", "/auth-collections/login-factor", json=proof)
    assert (refused.status_code, refused.json()["code"]) == (401, "invalid_factor")


async def test_an_empty_copy_has_the_schemas_and_no_record(used: Api, services: Services) -> None:
    _, copy = await clone(services, used, is_empty=True)
    counts = {name: len(each) for name, each in records(copy).items() if each}
    assert counts.keys() == {"collections", "rules", "aggregations", "profile"}
    assert (await copy.request("POST", BOOKS, json={"data": {"title": 7}})).status_code == 422
    assert (await copy.request("POST", BOOKS, json={"data": {"title": "One"}})).status_code == 201


async def test_an_id_that_is_taken_is_refused_before_anything_is_copied(used: Api, services: Services) -> None:
    portable = portable_of(services)
    with pytest.raises(Conflict):
        await clone_project(portable, Wanted("nothing"), used.project.id, Choices())


async def test_the_entry_of_the_audit_log_names_the_source(used: Api, services: Services, mongo: Any) -> None:
    await clone(services, used)
    system = used.database.name.removesuffix(f"p_{used.project.id}") + "system"
    entry = mongo[system]["audit"].find_one({"action": "project.cloned"})
    assert (entry["project_id"], used.project.id in str(entry["changes"])) == (COPY, True)
