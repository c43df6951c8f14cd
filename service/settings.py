"""The environment, typed and read once, by app and cli only. `scripts/docs` writes `.env.example` from it."""

import base64
import os
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from service.errors import ConfigurationError

SECRET_KEY_BYTES = 32
# Each may also be given as the path of a file, in <NAME>_FILE.
SECRETS = ("mongodb_uri", "secret_key", "smtp_url")
# `serve` tells its workers so that the MongoDB is one of its own.
EMBEDDED_VARIABLE = "AUTH_COLLECTIONS_EMBEDDED"
# The number of workers, which `serve` sets.
WORKERS_VARIABLE = "AUTH_COLLECTIONS_WORKERS"
# The name of this process's connections to MongoDB; a parent gives each of its workers one in this variable.
APP_NAME, APP_NAME_VARIABLE = "auth-collections", "AUTH_COLLECTIONS_APP_NAME"


class Settings(BaseSettings):
    """One value a variable of the environment; an empty variable counts as not set."""

    model_config = SettingsConfigDict(
        env_ignore_empty=True, env_file=".env", extra="ignore", frozen=True, use_attribute_docstrings=True
    )

    mongodb_uri: SecretStr | None = None
    """The MongoDB to use: a replica set or a sharded cluster, 6.0 or newer.

    Without it, `serve` starts one of its own under DATA_DIR."""
    mongodb_uri_file: Path | None = None
    """A file that holds MONGODB_URI, as containers are given secrets. MONGODB_URI itself comes first."""
    database_prefix: str = Field(default="ac_", pattern=r"^[a-z0-9_]{0,16}$")
    """The service's databases are `<prefix>system` and `<prefix>p_<project id>`."""
    data_dir: Path = Path("data")
    """The folder of the embedded MongoDB and its secret key."""
    base_url: str = Field(default="http://127.0.0.1:8000", pattern=r"^https?://[^\s?#]+$")
    """The address under which clients reach the service.

    It is also the issuer of user tokens: changing it ends all sessions."""
    storage_url: str | None = Field(default=None, pattern=r"^https?://[^\s?#]+$")
    """The address before `/files/<name>` in file URLs; the default is BASE_URL."""
    file_url_window: int = Field(default=3_600, ge=60, le=86_400)
    """Seconds for which the signed URL of a protected file stays the same; it is good for one to two times as long."""
    secret_key: SecretStr | None = None
    """32 random bytes in base64 (openssl rand -base64 32). It opens the stored secrets.

    Made and kept in DATA_DIR when MongoDB is embedded, required otherwise."""
    secret_key_file: Path | None = None
    """A file that holds SECRET_KEY."""
    default_project_id: str | None = None
    """The project of a sign-in that names none."""
    default_tier: Literal["free", "pro", "enterprise"] = "enterprise"
    """The TIER of a new project: `enterprise` has no daily limit unless the project's DAILY_LIMIT sets one."""
    idp_issuer: str | None = None
    """The identity provider: its issuer (OpenID Connect discovery), or the three addresses of a plain OAuth 2.0 provider."""
    idp_authorize_url: str | None = None
    """The authorization endpoint of a plain OAuth 2.0 provider."""
    idp_token_url: str | None = None
    """Its token endpoint."""
    idp_userinfo_url: str | None = None
    """Its userinfo endpoint."""
    idp_scopes: str = "openid email profile"
    """The scopes asked for."""
    smtp_url: SecretStr | None = None
    """The mail server: smtp://user:password@host:port, with STARTTLS, or smtps://...; without it mails are kept.

    Only a server of this machine may be spoken to in clear, which `?tls=required` forbids as well."""
    smtp_url_file: Path | None = None
    """A file that holds SMTP_URL."""
    mail_from: str | None = None
    """The sender of mails, such as Shop <no-reply@shop.example>; the default is no-reply at the host of BASE_URL."""
    trusted_proxies: Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode] = ()
    """Addresses and networks, separated by commas, of proxies whose X-Forwarded-For or Forwarded is
    believed, from the right."""
    metrics_token: SecretStr | None = Field(default=None, min_length=16)
    """The bearer token, of at least 16 characters, for reading /metrics. Without it there is no /metrics."""
    console: Literal["on", "off"] = "on"
    """`off`: no operator signs in, at the console or by its sessions; tokens of operators work."""
    admin_networks: Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode] = ()
    """Networks, separated by commas, from which operators come; others find no /admin/v1. Empty: all networks."""
    operator_mfa: Literal["required", "optional"] | None = None
    """`required`: each operator has a second factor. The default is `required` where BASE_URL is https, else `optional`."""
    operator_idle: int = Field(default=3_600, ge=300, le=86_400)
    """Seconds without a request after which an operator's session ends."""
    operator_lifetime: int = Field(default=86_400, ge=3_600, le=2_592_000)
    """Seconds after which an operator's session ends in any case."""
    operator_limit: int = Field(default=20_000, ge=1, le=10_000_000)
    """Requests an hour of one operator, or of one operator's token."""
    drain_seconds: float = Field(default=1.0, ge=0, le=60)
    """Seconds after SIGTERM in which /health/ready answers 503 while the service accepts as before."""
    bcrypt_cost: int = Field(default=12, ge=4, le=16)
    """The work factor of bcrypt: each step doubles the time of a login."""
    hashing_threads: int = Field(default=0, ge=0, le=64)
    """Threads of each worker that hash passwords; 0: as many as the workers together have CPUs."""
    password_range_url: str = Field(default="https://api.pwnedpasswords.com/range/", pattern=r"^https?://.+/$")
    """The range service that knows leaked passwords, for projects with `PASSWORD_CHECK=leaked`; a mirror's works, too.

    It ends with a slash. The first five digits of a password's SHA-1 are sent there, and nothing else."""
    request_log_mb: int = Field(default=64, ge=0, le=4_096)
    """Megabytes of the log of requests; the oldest make room. 0: requests are not noted."""
    audit_days: int = Field(default=400, ge=30, le=3_650)
    """Days for which entries of the audit log are kept, also those of deleted projects."""
    backup_store: Path | None = None
    """The folder of the backups that the Admin API takes; the default is `backups` in DATA_DIR."""
    feed_days: int = Field(default=7, ge=1, le=30)
    """Days for which the feed keeps its events."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least level that is logged."""
    slow_query_ms: int = Field(default=100, ge=0, le=60_000)
    """Milliseconds after which a query is slow: its request's line in the log describes it. 0: none is."""
    log_format: Literal["json", "console"] = "json"
    """`json` for machines, `console` for people."""

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

    @field_validator("trusted_proxies", "admin_networks", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("log_level", "log_format", "console", "operator_mfa", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("secret_key")
    @classmethod
    def _is_32_bytes(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not is_secret_key(value):
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
    def requires_factor(self) -> bool:
        """True if each operator must have a second factor."""
        return (self.operator_mfa or ("required" if self.base_url.startswith("https") else "optional")) == "required"

    @property
    def app_name(self) -> str:
        """The name of this process's connections, as MongoDB lists them."""
        return os.environ.get(APP_NAME_VARIABLE, APP_NAME)

    @property
    def files_url(self) -> str:
        return self.storage_url or self.base_url

    @property
    def pictures_origin(self) -> str:
        """The origin of STORAGE_URL, which the console's pages may show pictures from; empty where none is set."""
        url = urlsplit(self.storage_url or "")
        return f"{url.scheme}://{url.netloc}" if url.netloc else ""


def _read_secret(variable: str, path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigurationError(f"{variable}: {path} cannot be read: {reason}") from None


def is_secret_key(value: SecretStr) -> bool:
    """True if it is 32 bytes in base64."""
    return len(_decode(value)) == SECRET_KEY_BYTES


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
