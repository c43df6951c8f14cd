from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from faults.provider import CLIENT_ID, CLIENT_SECRET, Provider
from service.providers.registration import presets
from service.services import Services
from tests.conftest import Api, MakeApi
from tests.identity_provider import provider, provider_server
from tests.web.sign_in.fakes import Fakes, running_fakes
from tests.web.sign_in.presets import Preset
from tests.web.sign_in.providers import Providers
from tests.web.sign_in.site import CALLBACK, COMPLETE, Site

__all__ = ["provider", "provider_server"]

PAGE, APP, LOCAL = "https://app.example.com/in", "com.example.app:/in", "http://127.0.0.1/in"
MakeSite = Callable[..., Awaitable[Site]]


@pytest.fixture
def make_site(make_api: MakeApi, provider: Provider) -> MakeSite:
    """Makes projects that sign in at the test provider; a setting given here replaces the usual one."""

    async def make(**settings: str) -> Site:
        usual = {
            "IDP_CLIENT_ID": CLIENT_ID,
            "IDP_CLIENT_SECRET": CLIENT_SECRET,
            "IDP_REDIRECT_URL": CALLBACK,
            "IDP_COMPLETE_URL": COMPLETE,
            "IDP_ISSUER": provider.issuer(),
        }
        chosen = {name: value for name, value in {**usual, **settings}.items() if value}
        return Site(await make_api(**chosen), provider)

    return make


@pytest.fixture
async def site(make_site: MakeSite) -> Site:
    return await make_site()


@pytest.fixture
def api(site: Site) -> Api:
    return site.api


@pytest.fixture
async def providers(make_api: MakeApi, provider: Provider, services: Services) -> Providers:
    """A project with no provider yet."""
    return Providers(await make_api(IDP_COMPLETE_URL=COMPLETE), provider, services)


@pytest.fixture
async def staff(providers: Providers) -> Providers:
    """A project with one provider, and pages of its own."""
    await providers.openid("staff")
    changes = {"REDIRECT_URLS": f"{PAGE},{APP},{LOCAL}", "ACCESS_TOKEN_LIFETIME": "900"}
    await providers.services.base.admin.change(providers.api.project.id, changes)
    providers.services.base.projects.forget_all()
    return providers


@pytest.fixture(scope="module")
def fakes_server() -> Iterator[Fakes]:
    with running_fakes() as fakes:
        yield fakes


@pytest.fixture
def make_preset(providers: Providers, fakes_server: Fakes) -> Any:
    """Makes a project's provider of a preset, with its fake."""

    async def make(name: str, **settings: str) -> Preset:
        fakes_server.asked.clear()
        fakes_server.document.clear()
        preset = Preset(providers, fakes_server, name)
        secret = {"CLIENT_SECRET": CLIENT_SECRET} if presets()[name].secret == "fixed" else {}
        await preset.set(**secret, **settings)
        return preset

    return make
