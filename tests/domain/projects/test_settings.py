"""The settings of a project: their schema, versions, dry runs, needs, and two changes at once."""

import asyncio
import json
from collections.abc import Set
from typing import Any

import jsonschema_rs
import pytest
from pymongo import MongoClient

from service.domain.projects.setting_changes import OWNERS_SETTINGS, SettingChanges, check_types
from service.domain.projects.setting_forms import DIALECT, GROUPS, NEEDS, settings_schema
from service.domain.projects.settings import SECRET_SETTINGS, ProjectSettings
from service.errors import Forbidden, InvalidConfiguration, ProjectNotFound, VersionConflict
from service.services import Services
from tests.conftest import Api

NAMES = {name.upper() for name in ProjectSettings.model_fields}


@pytest.fixture
def changes(services: Services) -> SettingChanges:
    return services.base.setting_changes


def places(error: InvalidConfiguration) -> list[tuple[str | int, ...]]:
    return [violation.loc for violation in error.violations]


def test_each_setting_stands_in_the_schema_once_with_a_place_of_its_own() -> None:
    properties = settings_schema()["properties"]
    assert properties.keys() == NAMES
    assert sum(map(len, GROUPS.values())) == len(NAMES)
    assert len({(each["x-group"], each["x-order"]) for each in properties.values()}) == len(NAMES)
    assert all(each["title"] and each["description"] and "type" in each for each in properties.values())
    assert {name for name, each in properties.items() if each.get("writeOnly")} == SECRET_SETTINGS
    assert settings_schema()["$schema"] == DIALECT
    jsonschema_rs.meta.validate(settings_schema())
    json.dumps(settings_schema())


def test_the_schema_has_bounds_units_and_needs() -> None:
    properties = settings_schema()["properties"]
    length, days = properties["PASSWORD_MIN_LENGTH"], properties["EVENT_DAYS"]
    assert (length["type"], length["minimum"], length["maximum"], length["default"]) == ("integer", 1, 72, 8)
    assert (days["x-unit"], days["x-zero"]) == ("days", "none are recorded")
    assert properties["TIER"]["enum"] == ["free", "pro", "enterprise"]
    assert properties["PRIVATE_ACCOUNTS"]["x-needs"] == {"EMAIL_VERIFICATION": "required"}
    assert properties["MAIL_TEXTS"]["default"] is None
    assert (properties["CORS_ORIGINS"]["type"], properties["CORS_ORIGINS"]["default"]) == ("string", None)
    assert properties["CAPTCHA_ON"]["default"] == "signup"
    assert all(needed in NAMES for needs in NEEDS.values() for needed in needs)


async def test_a_change_shows_what_is_set_and_counts_versions(api: Api, changes: SettingChanges) -> None:
    before = await changes.read(api.project.id)
    assert before.version == 1
    done = await changes.change(
        api.project.id, {"EVENT_DAYS": 30, "CORS_ORIGINS": "https://a.example, https://b.example"}
    )
    assert done.after.version == 2
    assert done.after.settings["CORS_ORIGINS"] == "https://a.example,https://b.example"
    assert done.changes == [
        {"path": ["settings", "CORS_ORIGINS"], "before": None, "after": "https://a.example,https://b.example"},
        {"path": ["settings", "EVENT_DAYS"], "before": None, "after": 30},
    ]
    assert await changes.read(api.project.id) == done.after
    gone = await changes.change(api.project.id, {"EVENT_DAYS": None, "CORS_ORIGINS": None})
    assert (gone.after.version, gone.after.settings) == (3, before.settings)


async def test_a_change_of_nothing_leaves_the_version(api: Api, changes: SettingChanges) -> None:
    await changes.change(api.project.id, {"EVENT_DAYS": 30})
    again = await changes.change(api.project.id, {"EVENT_DAYS": "30", "SMTP_URL": None})
    assert (again.after.version, again.changes) == (2, [])


async def test_a_secret_is_named_and_never_shown(api: Api, changes: SettingChanges, mongo: MongoClient[Any]) -> None:
    url = "smtps://u:hunter2hunter2@mail.example.com"
    done = await changes.change(api.project.id, {"SMTP_URL": url, "IDP_CLIENT_SECRET": "hunter2hunter2"})
    assert done.after.secrets == ["IDP_CLIENT_SECRET", "SMTP_URL"]
    assert done.changes[0] == {"path": ["settings", "IDP_CLIENT_SECRET"], "before": None, "after": "***"}
    again = await changes.change(api.project.id, {"EVENT_DAYS": 31})
    assert "hunter2" not in str(done) + str(again) + str(await changes.read(api.project.id))
    assert again.after.secrets == done.after.secrets


async def test_a_dry_run_says_the_same_and_changes_nothing(api: Api, changes: SettingChanges) -> None:
    before = await changes.read(api.project.id)
    dry = await changes.change(api.project.id, {"EVENT_DAYS": 30}, dry_run=True)
    assert await changes.read(api.project.id) == before
    assert (await changes.change(api.project.id, {"EVENT_DAYS": 30})).changes == dry.changes


async def test_another_version_is_refused(api: Api, changes: SettingChanges) -> None:
    await changes.change(api.project.id, {"EVENT_DAYS": 30}, if_match=(1,))
    with pytest.raises(VersionConflict) as caught:
        await changes.change(api.project.id, {"EVENT_DAYS": 31}, if_match=(1,))
    assert caught.value.headers == {"etag": '"v2"'}


async def test_c21_of_two_changes_of_one_version_at_once_one_is_made(api: Api, changes: SettingChanges) -> None:
    both = (changes.change(api.project.id, {"EVENT_DAYS": days}, if_match=(1,)) for days in (30, 31))
    results = await asyncio.gather(*both, return_exceptions=True)
    assert sum(isinstance(each, VersionConflict) for each in results) == 1
    assert (await changes.read(api.project.id)).version == 2


async def test_of_changes_without_a_version_at_once_none_is_lost(api: Api, changes: SettingChanges) -> None:
    values = {"EVENT_DAYS": 30, "SIGNUP_LIMIT": 3, "MAIL_LIMIT": 4, "CODE_LIMIT": 5, "REFRESH_LIMIT": 6}
    await asyncio.gather(*(changes.change(api.project.id, {name: value}) for name, value in values.items()))
    after = await changes.read(api.project.id)
    assert {name: after.settings[name] for name in values} == values
    assert after.version == 1 + len(values)


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"PASSWORD_MIN_LENGTH": 0}, "PASSWORD_MIN_LENGTH"),
        ({"NONE_SUCH": 1}, "NONE_SUCH"),
        ({"NONE_SUCH": None}, "NONE_SUCH"),
        ({"__proto__": "x"}, "__proto__"),
        ({"password_min_length": 9}, "password_min_length"),
        ({"settings.TIER": "free"}, "settings.TIER"),
        ({"$set": {}}, "$set"),
        ({"CORS_ORIGINS": "javascript:1"}, "CORS_ORIGINS"),
        ({"PRIVATE_ACCOUNTS": True}, "PRIVATE_ACCOUNTS"),
        ({"TIER": "free", "DAILY_LIMIT": 5}, "DAILY_LIMIT"),
        ({"MAIL_TEXTS": {"none": {}}}, "MAIL_TEXTS"),
    ],
)
async def test_a_fault_has_the_path_of_its_setting(
    api: Api, changes: SettingChanges, values: dict[str, Any], wrong: str
) -> None:
    before = await changes.read(api.project.id)
    with pytest.raises(InvalidConfiguration) as caught:
        await changes.change(api.project.id, values)
    assert places(caught.value) == [("body", "settings", wrong)]
    assert caught.value.status == 422
    assert await changes.read(api.project.id) == before


async def test_needs_are_judged_on_the_result_of_all_changes(api: Api, changes: SettingChanges) -> None:
    await changes.change(api.project.id, {"PRIVATE_ACCOUNTS": True, "EMAIL_VERIFICATION": "required"})
    with pytest.raises(InvalidConfiguration) as caught:
        await changes.change(api.project.id, {"EMAIL_VERIFICATION": None})
    assert places(caught.value) == [("body", "settings", "PRIVATE_ACCOUNTS")]
    await changes.change(api.project.id, {"PRIVATE_ACCOUNTS": None, "EMAIL_VERIFICATION": None})


@pytest.mark.parametrize(
    "value",
    [
        *({"EVENT_DAYS": "30"}, {"EVENT_DAYS": True}, {"EVENT_DAYS": 1.0}, {"LOGIN_FAILURES": 1}, {"TIER": 1}),
        *({"CORS_ORIGINS": ["https://a.example"]}, {"MAIL_TEXTS": "{}"}, {"SMTP_URL": {}}),
    ],
)
def test_a_request_sends_the_json_types_of_the_schema(value: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        check_types(value)
    assert places(caught.value) == [("body", "settings", *value)]


async def test_a_caller_may_be_refused_some_settings(api: Api, changes: SettingChanges) -> None:
    def allow(names: Set[str]) -> None:
        if names & OWNERS_SETTINGS:
            raise Forbidden

    await changes.change(api.project.id, {"EVENT_DAYS": 30, "TIER": api.project.settings.tier}, allow=allow)
    with pytest.raises(Forbidden):
        await changes.change(api.project.id, {"EVENT_DAYS": 31, "COLLECTION_LIMIT": 3}, allow=allow)
    assert (await changes.read(api.project.id)).settings["EVENT_DAYS"] == 30


async def test_a_project_that_is_not_there_has_no_settings(changes: SettingChanges) -> None:
    with pytest.raises(ProjectNotFound):
        await changes.read("none")
    with pytest.raises(ProjectNotFound):
        await changes.change("none", {})
