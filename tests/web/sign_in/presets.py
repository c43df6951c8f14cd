"""A project with one provider, of a preset, and the fake of that."""

from dataclasses import dataclass
from typing import Any

from faults.provider import CLIENT_ID
from service.providers.registration import presets
from tests.web.sign_in.fakes import Fakes
from tests.web.sign_in.providers import Providers, query_of
from tests.web.sign_in.site import Ending, ending


@dataclass(frozen=True)
class Preset:
    """A project with one provider, of a preset, and the fake of that."""

    providers: Providers
    fakes: Fakes
    name: str

    async def begin(self) -> dict[str, str]:
        return query_of(await self.providers.begin(self.name))

    async def sign_in(self, claims: dict[str, Any], form: dict[str, str] | None = None, **more: str) -> Ending:
        """`form` is what is posted beside; without it the answer is in the URL."""
        asked = await self.begin()
        answer = {"code": self.fakes.grant(self.name, asked, claims), "state": asked["state"], **more}
        if form is not None:
            return ending(await self.providers.api.http.post(asked["redirect_uri"], data=answer | form))
        return ending(await self.providers.api.http.get(asked["redirect_uri"], params=answer))

    async def set(self, **settings: str) -> None:
        place = f"{self.fakes.base}/{self.name}"
        urls = {"AUTHORIZE_URL": f"{place}/authorize", "TOKEN_URL": f"{place}/token", "USERINFO_URL": f"{place}/user"}
        openid = presets()[self.name].kind == "openid"
        usual = {"ISSUER": self.fakes.issuer(self.name)} if openid else urls
        await self.providers.services.base.providers.set(
            self.providers.api.project.id, self.name, None, {"CLIENT_ID": CLIENT_ID, **usual, **settings}
        )
