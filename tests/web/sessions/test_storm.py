"""The small form of `python -m faults sessions`: row S1 over many sessions, and thefts after each."""

from faults.sessions import ACCOUNT, SETTINGS, measure_cost, storm
from service.app import Application
from service.services import Services
from tests.conftest import MakeApi


async def test_s1_no_session_is_lost_to_its_tabs_and_no_theft_is_missed(make_api: MakeApi, services: Services) -> None:
    api = await make_api(**SETTINGS)
    assert (await api.signup(**ACCOUNT)).status_code == 201
    report = await storm(api.http, api.key, sessions=12, tabs=10, settle=services.sessions.sightings.write)
    assert (report.sessions, report.refreshes, report.lost, report.missed) == (12, 120, 0, 0)


async def test_the_cost_of_a_refresh_is_measured(make_api: MakeApi, running_app: Application) -> None:
    api = await make_api(**SETTINGS)
    await api.signup(**ACCOUNT)
    cost = await measure_cost(running_app, api.key, requests=5, rounds=2)
    assert cost.profile > 0
    assert cost.ratio > 0
