"""The identity providers of a project beside the one of its IDP settings: each is a preset and the project's settings
of it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, SecretStr, ValidationError

from service.domain.projects.settings import (
    IN_CAPITALS,
    ProfileClaims,
    ProviderUrl,
    leave_out_most_unknown,
    list_faults,
    split_list,
)
from service.errors import InvalidConfiguration, Violation
from service.providers.openid import TENANT_ID
from service.providers.registration import Preset, presets
from service.providers.signed_secrets import read_key

PROVIDER_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")
# The provider of a project's IDP settings.
DEFAULT = "default"
PROVIDER_SECRETS = frozenset({"CLIENT_SECRET", "PRIVATE_KEY"})


def _is_private_key(value: SecretStr) -> SecretStr:
    r"""Reads the key; `\n` in it stands for a line end, for tools that cannot send one."""
    pem = value.get_secret_value().replace("\\n", "\n")
    read_key(pem)
    return SecretStr(pem)


def _is_tenant(value: str) -> str:
    if not TENANT_ID.fullmatch(value):
        raise ValueError("must be ids of tenants, such as 9188040d-6c67-4c5b-b112-36a304b66dad, separated by commas")
    return value


Text = Annotated[str, Field(min_length=1, max_length=2048)]

PrivateKey = Annotated[SecretStr, AfterValidator(_is_private_key)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(split_list)]
Tenants = Annotated[tuple[Annotated[str, AfterValidator(_is_tenant)], ...], BeforeValidator(split_list)]


class ProviderSettings(BaseModel):
    """A project's settings of a provider. Their outer names are in capitals: `client_id` is CLIENT_ID."""

    model_config = IN_CAPITALS

    client_id: Text | None = None
    """The client id that the provider issued."""
    client_secret: SecretStr | None = None
    """The client secret; encrypted at rest, never shown again."""
    issuer: ProviderUrl | None = None
    """An OpenID provider, exactly as its configuration document writes it; of OAuth 2.0, what `iss` must say."""
    authorize_url: ProviderUrl | None = None
    """The authorize endpoint of an OAuth 2.0 provider, to which browsers go."""
    token_url: ProviderUrl | None = None
    """The token endpoint of an OAuth 2.0 provider, which exchanges codes."""
    userinfo_url: ProviderUrl | None = None
    """The userinfo endpoint of an OAuth 2.0 provider."""
    scopes: Text | None = None
    """The scopes asked for."""
    client_auth: Literal["client_secret_basic", "client_secret_post"] | None = None
    """The service's client authentication at the provider; the default is the one the provider publishes."""
    profile_claims: ProfileClaims = ()
    """Claims that a new user gets in `data`, in place of the project's PROFILE_CLAIMS."""
    response_mode: Literal["query", "form_post"] | None = None
    """The way the browser brings the answer back."""
    audiences: Texts = ()
    """Further client ids of the project at this provider, separated by commas, whose ID tokens apps may send."""
    team_id: Text | None = None
    """Apple: the team that signs client secrets."""
    key_id: Text | None = None
    """Apple: the id of the key that signs client secrets."""
    private_key: PrivateKey | None = None
    """Apple: that key, as PEM; encrypted at rest, never shown again."""
    tenants: Tenants = ()
    """Microsoft: the ids of the tenants whose users may come in, separated by commas; all by default."""


@dataclass(frozen=True, slots=True)
class Provider:
    """One of a project's providers."""

    name: str
    preset: Preset
    settings: ProviderSettings

    @property
    def title(self) -> str:
        """The provider's name for people."""
        return self.preset.title if self.name == self.preset.name else self.name


def read_provider(name: str, preset: str, values: Mapping[str, Any]) -> Provider:
    """The provider that `values`, by their names in capitals, describe. Raises InvalidConfiguration naming each bad one."""
    if not PROVIDER_NAME.fullmatch(name) or name == DEFAULT:
        raise InvalidConfiguration.one(
            ("path", "name"),
            f"A provider's name has 1 to 32 of a-z, 0-9 and -, and neither begins nor ends with -; {DEFAULT} is the one of "
            "the IDP settings",
        )
    if preset not in presets():
        raise InvalidConfiguration.one(
            ("body", "preset"), f"There is no preset {preset}; --preset is one of {', '.join(presets())}"
        )
    try:
        return Provider(
            name, presets()[preset], ProviderSettings.model_validate(leave_out_most_unknown(ProviderSettings, values))
        )
    except ValidationError as error:
        raise InvalidConfiguration(list_faults(error, "a setting of a provider")) from None


def check_complete(provider: Provider) -> None:
    """Raises InvalidConfiguration if the settings and the preset lack the client id or the provider's addresses."""
    settings, preset = provider.settings, provider.preset
    urls = ("issuer",) if preset.kind == "openid" else ("authorize_url", "token_url", "userinfo_url")
    missing = [name for name in urls if not (getattr(settings, name) or getattr(preset, name))]
    if not settings.client_id:
        missing.insert(0, "client_id")
    if missing:
        raise InvalidConfiguration(
            Violation(("body", "settings", name.upper()), f"{name.upper()} key missing", "missing") for name in missing
        )
