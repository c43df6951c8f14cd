"""The environment, typed and read once, by app and cli only. Every variable is explained in `.env.example`."""

import base64
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from service.errors import ConfigurationError

SECRET_KEY_BYTES = 32
# Each may also be given as the path of a file, in <NAME>_FILE.
SECRETS = ("mongodb_uri", "secret_key")


class Settings(BaseSettings):
    """One value a variable of the environment; an empty variable counts as not set."""

    model_config = SettingsConfigDict(env_ignore_empty=True, env_file=".env", extra="ignore", frozen=True)

    mongodb_uri: SecretStr | None = None
    mongodb_uri_file: Path | None = None
    database_prefix: str = Field(default="ac_", pattern=r"^[a-z0-9_]{0,16}$")
    data_dir: Path = Path("data")
    base_url: str = Field(default="http://127.0.0.1:8000", pattern=r"^https?://[^\s?#]+$")
    storage_url: str | None = Field(default=None, pattern=r"^https?://[^\s?#]+$")
    secret_key: SecretStr | None = None
    secret_key_file: Path | None = None
    default_project_id: str | None = None
    idp_issuer: str | None = None
    idp_authorize_url: str | None = None
    idp_token_url: str | None = None
    idp_userinfo_url: str | None = None
    idp_scopes: str = "openid email profile"
    trusted_proxies: Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode] = ()
    metrics_token: SecretStr | None = Field(default=None, min_length=16)
    drain_seconds: float = Field(default=1.0, ge=0, le=60)
    bcrypt_cost: int = Field(default=12, ge=4, le=16)
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"

    @model_validator(mode="before")
    @classmethod
    def _read_files(cls, values: dict[str, Any]) -> dict[str, Any]:
        """A secret may stand in a file, as containers are given theirs; one that is given directly comes first."""
        for name in SECRETS:
            if (path := values.get(f"{name}_file")) and not values.get(name):
                values[name] = _read_secret(f"{name}_file".upper(), Path(path))
        return values

    @field_validator("base_url", "storage_url")
    @classmethod
    def _without_trailing_slash(cls, url: str | None) -> str | None:
        return url.rstrip("/") if url else url

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("log_level", "log_format", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("secret_key")
    @classmethod
    def _is_32_bytes(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(_decode(value)) != SECRET_KEY_BYTES:
            raise ValueError("must be 32 random bytes in base64; `openssl rand -base64 32` makes one")
        return value

    @cached_property
    def secret(self) -> bytes:
        """The 32 bytes of SECRET_KEY. Raises ConfigurationError when it is not set."""
        if self.secret_key is None:
            raise ConfigurationError(
                "SECRET_KEY is not set; `openssl rand -base64 32` makes one. Keep it: it opens the stored secrets"
            )
        return _decode(self.secret_key)

    @property
    def database_uri(self) -> str:
        """Raises ConfigurationError when no MongoDB is named; only a command embeds one."""
        if self.mongodb_uri is None:
            raise ConfigurationError("MONGODB_URI is not set; `auth-collections serve` starts a MongoDB of its own")
        return self.mongodb_uri.get_secret_value()

    @property
    def files_url(self) -> str:
        return self.storage_url or self.base_url


def _read_secret(variable: str, path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigurationError(f"{variable}: {path} cannot be read: {reason}") from None


def _decode(value: SecretStr) -> bytes:
    try:
        return base64.b64decode(value.get_secret_value(), validate=True)
    except ValueError:
        return b""


def read_settings() -> Settings:
    """The settings of this process. Raises ConfigurationError that names each bad variable on one line."""
    try:
        return Settings()
    except ValidationError as error:
        faults = (
            f"{str(e['loc'][0]).upper()}: {e['msg'].removeprefix('Value error, ')}"
            for e in error.errors(include_input=False)
        )
        raise ConfigurationError("; ".join(faults)) from None
