"""A service of one's own machine: where the environment names no MongoDB, one is embedded under DATA_DIR, with its key."""

import base64
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pydantic import SecretStr

from service.embedded.kept import keep_secret
from service.embedded.mongod import embedded_mongodb, find_uri
from service.errors import ConfigurationError
from service.settings import SECRET_KEY_BYTES, Settings, is_secret_key


@contextmanager
def with_database(settings: Settings) -> Iterator[Settings]:
    """Settings that name a MongoDB: the given ones, or the embedded server's while the context lasts."""
    if settings.mongodb_uri is not None:
        yield settings
        return
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        key = settings.secret_key or _kept_key(settings.data_dir / "secret_key")
    except OSError as error:
        raise _unusable(settings.data_dir, error) from None
    with ExitStack() as running:
        try:
            uri = running.enter_context(embedded_mongodb(settings.data_dir))
        except OSError as error:
            raise _unusable(settings.data_dir, error) from None
        yield settings.model_copy(update={"mongodb_uri": SecretStr(uri), "secret_key": key})


def locate(settings: Settings) -> str:
    """The URI of the MongoDB of these settings, with its password. Raises ConfigurationError where there is no data."""
    if settings.mongodb_uri is not None:
        return settings.mongodb_uri.get_secret_value()
    try:
        uri = find_uri(settings.data_dir)
    except OSError as error:
        raise _unusable(settings.data_dir, error) from None
    if uri is None:
        raise ConfigurationError(f"no data in {settings.data_dir}; name DATA_DIR or MONGODB_URI")
    return uri


def _unusable(data_dir: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(f"DATA_DIR: {data_dir} cannot be used: {error.filename or ''}: {error.strerror}")


def _kept_key(path: Path) -> SecretStr:
    """The key of this DATA_DIR, made on the first run."""
    key = SecretStr(keep_secret(path, lambda: base64.b64encode(secrets.token_bytes(SECRET_KEY_BYTES)).decode()))
    if not is_secret_key(key):
        raise ConfigurationError(
            f"DATA_DIR: {path} holds no key of 32 bytes in base64; put back the one that opens the stored secrets"
        )
    return key
