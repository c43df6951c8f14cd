"""Guesses of a code are bounded: rows E2, E3, E6 and E13."""

import asyncio
from typing import Any

from faults.mailed import Mailbox
from faults.once import race
from service.app import Application
from service.services import Services
from service.settings import Settings
from tests.conftest import Api, MakeApi
from tests.web.flows.mailbox import ask, newest

INVALID = (400, "invalid_code")


def wrong(code: str) -> str:
    return f"{(int(code) + 1) % 10**6:06}"


def outcome(answer: Any) -> tuple[int, str | None]:
    return answer.status_code, answer.json().get("code")


async def test_e2_of_a_hundred_guesses_at_once_five_are_judged(
    make_api: MakeApi, services: Services, mongo: Any
) -> None:
    api = await make_api(CODE_LIMIT="0")
    await api.signup()
    flow_id = (await ask(api, "verify-email", email="ann@example.com")).json()["flow_id"]
    code = (await newest(services, api)).code
    flows = mongo[f"{services.base.databases.prefix}system"]["flows"]
    answers = await asyncio.gather(*(ask(api, "confirm", flow_id=flow_id, code=wrong(code)) for _ in range(100)))
    # Ten mistakes in a quarter of an hour are an account's; five of those are the flow's.
    assert {outcome(answer) for answer in answers} == {INVALID, (429, "rate_limit_exceeded")}
    assert [outcome(answer) for answer in answers].count(INVALID) == 10
    assert flows.find_one({"_id": flow_id})["left"] == 0
    mongo[f"{services.base.databases.prefix}system"]["counters"].delete_many({})
    assert outcome(await ask(api, "confirm", flow_id=flow_id, code=code)) == INVALID


async def test_e2_of_many_at_once_with_the_code_or_the_link_one_succeeds(api: Api, services: Services) -> None:
    await api.signup()
    flow_id = (await ask(api, "verify-email", email="ann@example.com")).json()["flow_id"]
    mail = await newest(services, api)
    token = mail.link.partition("?t=")[2]
    by_code = [ask(api, "confirm", flow_id=flow_id, code=mail.code) for _ in range(8)]
    by_token = [ask(api, "confirm", token=token) for _ in range(8)]
    statuses = [answer.status_code for answer in await asyncio.gather(*by_code, *by_token)]
    assert statuses.count(200) == 1
    assert set(statuses) <= {200, 400}


async def test_e3_new_flows_give_no_new_guesses(make_api: MakeApi, services: Services, mongo: Any) -> None:
    api = await make_api(CODE_LIMIT="0")
    system = mongo[f"{services.base.databases.prefix}system"]
    await api.signup()
    answers = []
    for _ in range(21):
        flow_id = (await ask(api, "verify-email", email="ann@example.com")).json()["flow_id"]
        code = (await newest(services, api)).code
        answers += [outcome(await ask(api, "confirm", flow_id=flow_id, code=wrong(code))) for _ in range(5)]
        system["flows"].delete_many({})
        # A quarter of an hour later, and with all the mails one wants.
        system["counters"].delete_many({"_id": {"$regex": "/mistakes/|/mail_"}})
    assert answers == [INVALID] * 100 + [(429, "rate_limit_exceeded")] * 5


async def test_e13_a_stranger_who_burns_the_guesses_leaves_the_link_open(make_api: MakeApi, services: Services) -> None:
    api = await make_api(CODE_LIMIT="0")
    await api.signup()
    flow_id = (await ask(api, "verify-email", email="ann@example.com")).json()["flow_id"]
    mail = await newest(services, api)
    for _ in range(20):
        await ask(api, "confirm", flow_id=flow_id, code=wrong(mail.code))
    assert outcome(await ask(api, "confirm", flow_id=flow_id, code=mail.code))[0] == 429
    assert (await ask(api, "confirm", token=mail.link.partition("?t=")[2])).status_code == 200


async def test_e6_a_code_is_good_for_its_own_flow_and_project(make_api: MakeApi, services: Services) -> None:
    api, other = await make_api(), await make_api()
    ids, codes = {}, {}
    for each in (api, other):
        await each.signup()
        ids[each.project.id] = (await ask(each, "verify-email", email="ann@example.com")).json()["flow_id"]
        codes[each.project.id] = await newest(services, each)
    mine, theirs = codes[api.project.id], codes[other.project.id]
    assert outcome(await ask(api, "confirm", flow_id=ids[other.project.id], code=theirs.code)) == INVALID
    assert outcome(await ask(api, "confirm", token=theirs.link.partition("?t=")[2])) == INVALID
    if mine.code != theirs.code:
        assert outcome(await ask(api, "confirm", flow_id=ids[api.project.id], code=theirs.code)) == INVALID
    await api.signup("bob@example.com")
    bobs = (await ask(api, "verify-email", email="bob@example.com")).json()["flow_id"]
    if (await newest(services, api, "bob@example.com")).code != mine.code:
        assert outcome(await ask(api, "confirm", flow_id=bobs, code=mine.code)) == INVALID
    assert outcome(await ask(api, "confirm", flow_id=ids[api.project.id], code=mine.code)) == (200, None)


async def test_a_decoy_takes_guesses_like_any_other_flow(make_api: MakeApi) -> None:
    api = await make_api(CODE_LIMIT="0")
    flow_id = (await ask(api, "verify-email", email="nobody@example.com")).json()["flow_id"]
    answers = [outcome(await ask(api, "confirm", flow_id=flow_id, code="123456")) for _ in range(11)]
    assert answers == [INVALID] * 10 + [(429, "rate_limit_exceeded")]


async def test_e2_races_for_codes_and_links_are_won_once(
    make_api: MakeApi, services: Services, running_app: Application, settings: Settings
) -> None:
    """The small form of `scripts/faults once`."""
    api = await make_api(EMAIL_VERIFICATION="optional")
    mailbox = Mailbox(running_app, api.http, api.key, settings.secret)
    for make in (mailbox.make_code, mailbox.make_link):
        report = await race([api.http], api.key, make, races=6, at_once=4)
        assert (report.races, report.twice, report.lost) == (6, 0, 0)
