"""Trials: each fault of a mail server or a provider is a step that failed, and nothing is raised or repeated."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from faults.commands import Shell, free_port
from faults.mail_server import PASSWORD, USER, mail_server
from faults.provider import CLIENT_ID, CLIENT_SECRET, Provider
from service.domain.trials.trials import NOT_ALLOWED, Trials
from service.errors import Busy, Invalid, LimitExceeded, ProviderNotFound
from service.outbound.fetching import Outbound
from service.providers.trial import try_provider
from service.schema.outcomes import Trial
from service.services import Services
from tests.conftest import Api, MakeApi
from tests.identity_provider import provider, provider_server

__all__ = ["provider", "provider_server"]
TO = "ann@example.com"


def steps(trial: Trial) -> list[tuple[str, bool]]:
    return [(step.step, step.ok) for step in trial.steps]


@pytest.fixture
async def outbound() -> AsyncIterator[Outbound]:
    outbound = Outbound(total_seconds=2.0)
    yield outbound
    await outbound.aclose()


@pytest.fixture
async def trials(services: Services, outbound: Outbound) -> Trials:
    return Trials(services.sign_in.clients, services.flows.outbox.routes, services.limits, outbound)


async def make(services: Services, api: Api, issuer: str) -> Any:
    values = {"CLIENT_ID": CLIENT_ID, "CLIENT_SECRET": CLIENT_SECRET, "ISSUER": issuer}
    await services.base.providers.set(api.project.id, "staff", "oidc", values)
    await services.base.admin.change(api.project.id, {"IDP_COMPLETE_URL": "https://app.example.com/done"})
    return await services.base.admin.find(api.project.id)


async def test_a_good_provider_passes_each_step(
    api: Api, services: Services, trials: Trials, provider: Provider
) -> None:
    trial = await trials.check_provider(await make(services, api, provider.issuer()), "staff")
    assert steps(trial) == [("discovery", True), ("issuer", True), ("keys", True), ("endpoints", True)]
    assert trial.ok


@pytest.mark.parametrize(
    ("issuer", "failed"),
    [("down", "discovery"), ("hanging", "discovery"), ("mislabelled", "issuer"), ("outside", "endpoints")],
)
async def test_c19_a_fault_of_a_private_provider_is_a_step_without_its_reason(
    api: Api, services: Services, trials: Trials, provider: Provider, issuer: str, failed: str
) -> None:
    trial = await trials.check_provider(await make(services, api, provider.issuer(issuer)), "staff")
    last = trial.steps[-1]
    assert (last.step, last.ok, last.detail) == (failed, False, NOT_ALLOWED)
    assert not trial.ok
    assert all(step.ok for step in trial.steps[:-1])


async def test_the_reason_of_a_public_provider_is_ours(
    api: Api, services: Services, outbound: Outbound, provider: Provider
) -> None:
    project = await make(services, api, provider.issuer("down"))
    trial = await try_provider(outbound, services.sign_in.clients.find(project, "staff"))
    assert trial.steps[-1].detail == "the provider answered 502"


async def test_a_provider_of_oauth_is_judged_by_its_addresses(api: Api, services: Services, trials: Trials) -> None:
    await services.base.providers.set(api.project.id, "github", None, {"CLIENT_ID": "c", "CLIENT_SECRET": "s"})
    await services.base.admin.change(api.project.id, {"IDP_COMPLETE_URL": "https://app.example.com/done"})
    trial = await trials.check_provider(await services.base.admin.find(api.project.id), "github")
    assert steps(trial) == [("endpoints", True)]


async def test_a_missing_setting_is_named(api: Api, services: Services, trials: Trials) -> None:
    await services.base.providers.set(api.project.id, "github", None, {"CLIENT_ID": "c"})
    trial = await trials.check_provider(await services.base.admin.find(api.project.id), "github")
    assert (trial.ok, len(trial.steps)) == (False, 1)
    with pytest.raises(ProviderNotFound):
        await trials.check_provider(api.project, "none-such")


async def test_a_mail_server_that_takes_the_mail(make_api: MakeApi, trials: Trials) -> None:
    async with mail_server() as (handed, port):
        api = await make_api(SMTP_URL=f"smtp://127.0.0.1:{port}")
        trial = await trials.test_mail(api.project, TO)
    assert steps(trial) == [("connect", True), ("tls", True), ("accepted", True)]
    assert handed.recipients == [TO]
    assert (trial.ok, trial.reply) == (True, "taken")


async def test_a_login_is_a_step(make_api: MakeApi, trials: Trials) -> None:
    async with mail_server(needs_login=True) as (_, port):
        user = f"{USER}:{PASSWORD.replace('@', '%40').replace('/', '%2F')}"
        good = await make_api(SMTP_URL=f"smtp://{user}@127.0.0.1:{port}")
        assert ("login", True) in steps(await trials.test_mail(good.project, TO))
        bad = await make_api(SMTP_URL=f"smtp://{USER}:wrong-password@127.0.0.1:{port}")
        trial = await trials.test_mail(bad.project, TO)
    assert steps(trial)[-1] == ("login", False)
    assert "wrong-password" not in str(trial)


async def test_a_refusal_has_the_last_line_of_the_server_and_no_more(make_api: MakeApi, trials: Trials) -> None:
    async with mail_server() as (handed, port):
        handed.refuses_contents.append(f"550 {'x' * 450}")
        api = await make_api(SMTP_URL=f"smtp://127.0.0.1:{port}")
        trial = await trials.test_mail(api.project, TO)
    assert (trial.steps[-1].step, trial.steps[-1].ok) == ("accepted", False)


async def test_c19_an_address_that_does_not_answer_is_not_described(make_api: MakeApi, trials: Trials) -> None:
    """An open port of a private network and a closed one look alike."""
    async with mail_server() as (handed, port):
        handed.refuses_recipients.append("550 no such user")
        details = set()
        for each in (port, free_port()):
            api = await make_api(SMTP_URL=f"smtp://127.0.0.1:{each}")
            trial = await trials.test_mail(api.project, TO)
            details.add((trial.steps[-1].detail, trial.reply))
    assert details == {(NOT_ALLOWED, None)}


async def test_a_server_that_hangs_is_left_in_time(
    make_api: MakeApi, trials: Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.domain.trials.trials.SECONDS", 0.3)
    async with mail_server() as (handed, port):
        handed.hangs = True
        api = await make_api(SMTP_URL=f"smtp://127.0.0.1:{port}")
        trial = await trials.test_mail(api.project, TO)
    assert steps(trial)[-1] == ("accepted", False)


async def test_a_project_without_a_server_keeps_its_mails(api: Api, trials: Trials) -> None:
    trial = await trials.test_mail(api.project, TO)
    assert (trial.ok, steps(trial)) == (False, [("connect", False)])


@pytest.mark.parametrize("to", ["", "ann", "ann@", "a@b.example\r\nBcc: x@y.example", "a@b.example, c@d.example"])
async def test_a_mail_goes_to_one_address(api: Api, trials: Trials, to: str) -> None:
    with pytest.raises(Invalid):
        await trials.test_mail(api.project, to)


async def test_an_hour_has_20_test_mails_of_a_project(api: Api, trials: Trials) -> None:
    for _ in range(20):
        await trials.test_mail(api.project, TO)
    with pytest.raises(LimitExceeded):
        await trials.test_mail(api.project, TO)


async def test_a_project_has_two_trials_under_way(make_api: MakeApi, trials: Trials) -> None:
    async with mail_server() as (handed, port):
        handed.hangs = True
        api = await make_api(SMTP_URL=f"smtp://127.0.0.1:{port}")
        under_way = [asyncio.create_task(trials.test_mail(api.project, TO)) for _ in range(2)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await trials.test_mail(api.project, TO)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


def test_the_commands_print_each_step_and_end_with_status_1(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p", "--set", f"SMTP_URL=smtp://127.0.0.1:{free_port()}")
    failed = shell.run("mail", "test", "p", "--to", TO, "--json")
    assert failed.returncode == 1
    assert json.loads(failed.stdout) == {
        "ok": False,
        "steps": [{"step": "connect", "ok": False, "detail": NOT_ALLOWED}],
        "reply": None,
    }
    shell.json("provider", "set", "p", "github", "CLIENT_ID=c", "CLIENT_SECRET=s")
    shell.json("project", "set", "p", "IDP_COMPLETE_URL=https://app.example.com/done")
    assert shell.run("provider", "check", "p", "github").stdout == "endpoints: ok\n"
    assert shell.run("provider", "check", "p", "none").returncode == 1
