"""A service of one's own machine: where the environment names no MongoDB, one is embedded under DATA_DIR, with its key."""

import base64
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import SecretStr

from service.embedded.mongod import embedded_mongodb
from service.errors import ConfigurationError
from service.settings import SECRET_KEY_BYTES, Settings


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
        raise ConfigurationError(f"DATA_DIR: {settings.data_dir} cannot be used: {error.strerror}") from None
    with embedded_mongodb(settings.data_dir) as uri:
        yield settings.model_copy(update={"mongodb_uri": SecretStr(uri), "secret_key": key})


def _kept_key(path: Path) -> SecretStr:
    """The key of this DATA_DIR, made on the first run. Linking a finished file lets two first runs agree on one key."""
    if not path.exists():
        draft = path.with_name(f"secret_key.{secrets.token_hex(4)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(base64.b64encode(secrets.token_bytes(SECRET_KEY_BYTES)).decode())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return SecretStr(path.read_text().strip())
