"""A service of one's own machine: where the environment names no MongoDB, one is embedded under DATA_DIR, with its key."""

import base64
import fcntl
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from pydantic import SecretStr

from service.embedded.access import keep_secret
from service.embedded.mongod import embedded_mongodb, find_uri
from service.errors import ConfigurationError
from service.settings import SECRET_KEY_BYTES, Settings, is_secret_key

# The file with the address of the server that started last.
LAST = "base_url"
# The folder with a file for each server.
SERVERS = "servers"


@contextmanager
def announced_address(folder: Path, address: str) -> Iterator[None]:
    """Commands on this folder know `address` as one of a running server while the context lasts. Raises OSError.

    The lock ends with the process, so that a server that was killed is not taken for a running one.
    """
    servers = folder / SERVERS
    servers.mkdir(exist_ok=True)
    name = secrets.token_hex(8)
    draft, path = servers / f"{name}.new", servers / name
    with draft.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(address)
        file.flush()
        draft.replace(path)
        _keep_last(folder, address)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def list_addresses(folder: Path) -> list[str]:
    """The addresses of the servers that run, the one that started last first; each once."""
    files = sorted(filter(_is_locked, (folder / SERVERS).glob("[0-9a-f]" * 16)), key=_read_start, reverse=True)
    return list(dict.fromkeys(address for file in files if (address := _read(file))))


def read_last_address(folder: Path) -> str | None:
    """The address of the server that started last, whether it still runs or not."""
    return _read(folder / LAST) or None


def _keep_last(folder: Path, address: str) -> None:
    draft = folder / f"{LAST}.{secrets.token_hex(4)}"
    draft.write_text(address)
    draft.replace(folder / LAST)


def _is_locked(path: Path) -> bool:
    """True if the server that wrote this file runs. The file of another one is removed."""
    with suppress(FileNotFoundError), path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        with suppress(OSError):
            path.unlink()
    return False


def _read_start(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_mtime_ns
    return 0


def _read(path: Path) -> str:
    with suppress(FileNotFoundError):
        return path.read_text().strip()
    return ""


@contextmanager
def with_database(settings: Settings) -> Iterator[Settings]:
    """Settings that name a MongoDB: the given ones, or the embedded server's while the context lasts.

    Without BASE_URL the address is that of the server that runs on this folder, else of the one that ran last.
    """
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
        yield _with_address(settings.model_copy(update={"mongodb_uri": SecretStr(uri), "secret_key": key}))


def has_data(settings: Settings) -> bool:
    """True if a database exists at these settings; a MongoDB that is not embedded is assumed to have one."""
    return settings.mongodb_uri is not None or (settings.data_dir / "mongodb" / "mongod.json").is_file()


def check_data(settings: Settings) -> None:
    """Raises ConfigurationError where there is no data; a command that begins none would say that nothing is there."""
    if not has_data(settings):
        raise ConfigurationError(f"no data in {show_folder(settings.data_dir)}; name DATA_DIR or MONGODB_URI")


def describe_database(settings: Settings) -> str:
    """The database in words, without a user or a password."""
    if settings.mongodb_uri is None:
        return f"MongoDB of {show_folder(settings.data_dir)}"
    address = settings.mongodb_uri.get_secret_value().partition("://")[2].partition("/")[0].partition("?")[0]
    return f"MongoDB at {address.rpartition('@')[2]}"


def show_folder(path: Path) -> str:
    """The path so that it is seen to be one: `data` becomes `./data`."""
    return str(path) if path.is_absolute() else f"./{path}"


@contextmanager
def serving_at(settings: Settings) -> Iterator[None]:
    """Commands on this folder make addresses with the BASE_URL of these settings while the context lasts."""
    with ExitStack() as running:
        try:
            running.enter_context(announced_address(settings.data_dir, settings.base_url))
        except OSError as error:
            raise _unusable(settings.data_dir, error) from None
        yield


def describe_guess(settings: Settings) -> str:
    """The sentence on the address that a command assumes, or an empty text where the address is known."""
    if "base_url" in settings.model_fields_set:
        return ""
    embedded = settings.mongodb_uri is None
    folder, running = show_folder(settings.data_dir), list_addresses(settings.data_dir) if embedded else []
    if len(running) == 1:
        return ""
    if running:
        return f"Servers of {folder} answer at {' and '.join(running)}; this is the address of the last one"
    if embedded and read_last_address(settings.data_dir):
        return f"No server of {folder} runs; this is the address of the last one"
    return "BASE_URL is not set"


def _with_address(settings: Settings) -> Settings:
    if "base_url" in settings.model_fields_set:
        return settings
    address = next(iter(list_addresses(settings.data_dir)), read_last_address(settings.data_dir))
    return settings.model_copy(update={"base_url": address}) if address else settings


def locate(settings: Settings) -> str:
    """The URI of the MongoDB of these settings, with its password. Raises ConfigurationError where there is no data."""
    if settings.mongodb_uri is not None:
        return settings.mongodb_uri.get_secret_value()
    check_data(settings)
    try:
        return find_uri(settings.data_dir)
    except OSError as error:
        raise _unusable(settings.data_dir, error) from None


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
