"""F31: claims of a provider that a project keeps in the data of new users."""

from typing import Any

import pytest

from service.domain.sign_in.linking import keep_claims
from service.errors import ConfigurationError
from service.services import Services
from tests.conftest import MakeApi
from tests.web.sign_in.apps import begin, bring, token_of
from tests.web.sign_in.conftest import MakeSite
from tests.web.sign_in.providers import Providers

PICTURE = "https://pictures.example/ada.png"
KEPT = "avatar=picture,locale,age=https://claims.example/age,beta,address,nothing"


async def come(staff: Providers, **claims: Any) -> dict[str, Any]:
    start = await begin(staff)
    answer = await bring(staff, start["flow_id"], token_of(staff.provider, start["nonce"], **claims))
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["user"]["data"])


async def test_f31_a_new_user_gets_the_claims_that_the_provider_is_set_to(providers: Providers) -> None:
    await providers.openid("staff", CLIENT_SECRET="", PROFILE_CLAIMS=KEPT)
    said = {"picture": PICTURE, "locale": "de", "https://claims.example/age": 33, "beta": True, "address": {"a": 1}}
    data = await come(providers, **said)
    assert data == {"username": data["username"], "avatar": PICTURE, "locale": "de", "age": 33, "beta": True}
    # Only at the first sign-in: from then on the data is the user's own.
    assert (await come(providers, picture="https://pictures.example/other.png"))["avatar"] == PICTURE


async def test_f31_the_project_decides_for_providers_without_claims_of_their_own(
    providers: Providers, services: Services
) -> None:
    await providers.openid("staff", CLIENT_SECRET="")
    await services.base.admin.change(providers.api.project.id, {"PROFILE_CLAIMS": "picture"})
    services.base.projects.forget_all()
    assert (await come(providers, picture=PICTURE))["picture"] == PICTURE


@pytest.mark.parametrize("said", [["a"], {"a": 1}, None, "", "x" * 2_049, "a\0b", "\ud800", 2**63, float("inf")])
def test_f31_what_is_no_plain_value_is_left_out(said: Any) -> None:
    assert keep_claims({"picture": said, "locale": "de"}, {"avatar": "picture", "locale": "locale"}) == {"locale": "de"}


async def test_f31_the_provider_of_the_idp_settings_keeps_claims_as_well(make_site: MakeSite) -> None:
    site = await make_site(PROFILE_CLAIMS="display_name=name,email_verified")
    end = await site.sign_in("ada")
    shown = await site.user(end.token)
    assert shown["data"] == {"username": "ada_lovelace", "display_name": "Ada Lovelace", "email_verified": True}


@pytest.mark.parametrize(
    "value", ["username=name", "password=x", "a.b=x", "=x", "$x", ",".join("abcdefghijklmnopqrstu")]
)
async def test_f31_fields_of_the_service_and_odd_names_are_refused(make_api: MakeApi, value: str) -> None:
    with pytest.raises(ConfigurationError, match="PROFILE_CLAIMS"):
        await make_api(PROFILE_CLAIMS=value)
