from collections.abc import Awaitable, Callable

import pytest

from faults.provider import CLIENT_ID, CLIENT_SECRET, Provider
from service.services import Services
from tests.conftest import Api, MakeApi
from tests.identity_provider import provider, provider_server
from tests.web.sign_in.providers import Providers
from tests.web.sign_in.site import CALLBACK, COMPLETE, Site

__all__ = ["provider", "provider_server"]

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
