"""PRIVATE_ACCOUNTS: no answer reveals which addresses have accounts.

Row E4, by its causes: bytes, commands, hashes, mails.
"""

from collections import Counter
from typing import Any

import bcrypt
import httpx2
import pytest
from pymongo.collection import Collection

from faults.privacy import compare
from service.errors import ConfigurationError
from service.services import Services
from service.storage.users import NewUser
from tests.conftest import Api, CommandRecorder, MakeApi
from tests.web.flows.mailbox import ask, mailed, newest

PASSWORD = "correct horse"
PRIVATE = {"EMAIL_VERIFICATION": "required", "PRIVATE_ACCOUNTS": "true"}
KNOWN, UNVERIFIED, PROVIDERS, DISABLED = "known@a.example", "fresh@a.example", "idp@a.example", "off@a.example"
UNKNOWN, LIMITED, LIMITED_STRANGER = "nobody@a.example", "limited@a.example", "stranger@a.example"
EVERYBODY = (KNOWN, UNVERIFIED, PROVIDERS, DISABLED, UNKNOWN, LIMITED, LIMITED_STRANGER)


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One for each work of bcrypt."""
    done: list[str] = []
    for name in ("hashpw", "checkpw"):
        work = getattr(bcrypt, name)

        def count(*arguments: Any, work: Any = work) -> Any:
            done.append(work.__name__)
            return work(*arguments)

        monkeypatch.setattr(bcrypt, name, count)
    return done


@pytest.fixture
async def api(make_api: MakeApi, services: Services, mongo: Any) -> Api:
    """A project with accounts of each kind; two addresses have had all the mails of their hour."""
    api = await make_api(**PRIVATE)
    for email in (KNOWN, UNVERIFIED, DISABLED, LIMITED):
        assert (await ask(api, "signup", email=email, password=PASSWORD)).status_code == 202
    users = api.database["users"]
    users.update_many({"email": {"$ne": UNVERIFIED}}, {"$set": {"email_verified": True}})
    users.update_one({"email": DISABLED}, {"$set": {"disabled": True}})
    project = await services.base.projects.by_api_key(api.key)
    await project.users.insert(NewUser(PROVIDERS, PROVIDERS, {}))
    flows = mongo[f"{services.base.databases.prefix}system"]["flows"]
    for email in (LIMITED, LIMITED_STRANGER):
        for _ in range(5):
            await ask(api, "verify-email", email=email)
            release(flows)
    flows.delete_many({})
    return api


def release(flows: Collection[Any]) -> None:
    """A minute later."""
    flows.update_many({}, {"$unset": {"slot": "", "slot_until": ""}})


def shown(answer: httpx2.Response) -> tuple[int, Any, Any]:
    body = answer.json()
    return answer.status_code, {name: len(str(value)) for name, value in body.items()}, sorted(answer.headers)


async def test_e4_whoever_has_the_address_the_answer_and_the_work_are_the_same(
    api: Api, commands: CommandRecorder, hashes: list[str]
) -> None:
    await ask(api, "verify-email", email="first@a.example")
    for path, body, status in (
        ("login", {"password": "wrong horse"}, 401),
        ("signup", {"password": PASSWORD, "name": "Ann"}, 202),
        ("verify-email", {}, 202),
        ("forgot-password", {}, 202),
        ("login-email", {}, 202),
    ):
        seen = {}
        for email in EVERYBODY:
            commands.commands.clear()
            hashes.clear()
            answer = await ask(api, path, email=email, **body)
            seen[email] = (shown(answer), tuple(commands.work), len(hashes))
        assert len({str(each) for each in seen.values()}) == 1, seen
        assert seen[UNKNOWN][0][0] == status
        assert seen[UNKNOWN][2] == (1 if body else 0)
        assert seen[KNOWN][1].count("commitTransaction") == (1 if path == "signup" else 0)


async def test_who_has_an_account_is_told_so_by_mail_only(api: Api, services: Services) -> None:
    before = api.database["users"].count_documents({})
    asked = await ask(api, "signup", email=KNOWN, password="another one")
    # The same for an unproven address.
    await ask(api, "signup", email=UNVERIFIED, password="another one")
    mails = Counter((mail.to, mail.kind) for mail in await mailed(services, api))
    assert mails == {(KNOWN, "account_exists"): 1, (UNVERIFIED, "account_exists"): 1}
    mail = await newest(services, api, KNOWN)
    assert (mail.code, mail.link) == (None, None)
    # Within a minute the first is answered again, and no mail is sent.
    again = await ask(api, "signup", email=KNOWN, password="another one")
    assert again.json() == asked.json()
    assert len(await mailed(services, api)) == 2
    assert api.database["users"].count_documents({}) == before
    assert (await api.login(KNOWN, PASSWORD)).status_code == 200
    assert (await api.login(KNOWN, "another one")).status_code == 401
    # There is no code for it, and guesses are judged as those of any other flow.
    guesses = [await ask(api, "confirm", flow_id=asked.json()["flow_id"], code="123456") for _ in range(11)]
    assert [guess.status_code for guess in guesses] == [400] * 10 + [429]

    # With a key, too.
    for email in (DISABLED, UNKNOWN):
        body, headers = {"email": email, "password": PASSWORD}, {"idempotency-key": "k" + email[:5]}
        answers = [await api.request("POST", "/auth-collections/signup", json=body, headers=headers) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [202, 202]
        assert answers[0].json() == answers[1].json()
        assert answers[1].headers["idempotency-replayed"] == "true"
    assert len(await mailed(services, api)) == 4


async def test_files_come_after_the_proof(make_api: MakeApi) -> None:
    api = await make_api(**PRIVATE)
    form: Any = {"data": (None, '{"email": "x@a.example", "password": "correct horse"}')}
    for files in (form, {**form, "photo": ("me.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 32, "image/png")}):
        answer = await api.request("POST", "/auth-collections/signup", files=files)
        assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


async def test_the_two_settings_go_together(make_api: MakeApi, services: Services) -> None:
    needed = "PRIVATE_ACCOUNTS needs EMAIL_VERIFICATION=required"
    for settings in ({"PRIVATE_ACCOUNTS": "true"}, {**PRIVATE, "EMAIL_VERIFICATION": "optional"}):
        with pytest.raises(ConfigurationError, match=needed):
            await make_api(**settings)
    api = await make_api(EMAIL_VERIFICATION="required")
    await services.base.admin.change(api.project.id, {"PRIVATE_ACCOUNTS": "true"})
    for changes in ({"EMAIL_VERIFICATION": "off"}, {"EMAIL_VERIFICATION": ""}):
        with pytest.raises(ConfigurationError, match=needed):
            await services.base.admin.change(api.project.id, changes)
    await services.base.admin.change(api.project.id, {"EMAIL_VERIFICATION": "", "PRIVATE_ACCOUNTS": ""})


async def test_the_times_of_two_kinds_are_compared() -> None:
    """The test behind `scripts/faults privacy`."""
    same = [float(number) for number in range(40)]
    assert compare(same, [value + 0.5 for value in same]) > 0.8
    assert compare(same, [value + 30 for value in same]) < 1e-6


async def test_e4_a_refused_login_takes_as_long_as_chance_has_it(
    api: Api, make_api: MakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The remaining difference is far smaller; `python -m faults privacy` compares the times."""
    waited = list[float]()

    async def note(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("service.domain.accounts.users.sleep", note)
    for email in EVERYBODY * 5:
        assert (await api.login(email, "wrong horse")).status_code == 401
    assert len(set(waited)) > len(EVERYBODY) < len(waited) == len(EVERYBODY) * 5
    assert 0 <= min(waited) < 0.005 < 0.015 < max(waited) < 0.02
    waited.clear()
    await api.login(KNOWN, PASSWORD)
    open_ = await make_api()
    await open_.signup(KNOWN, PASSWORD)
    await open_.login(KNOWN, "wrong horse")
    assert waited == []
