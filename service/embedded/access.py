"""Access to the embedded MongoDB: clients use the password of its folder, and the service itself the key.

mongod takes the key file of a replica set as the password of `__system`, the user of the set's own members, which has
all rights. The service uses it to make the set and its own user. So MongoDB's localhost exception stays off, which
would let any client of the machine make the first user of a new folder.
"""

import base64
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pymongo import MongoClient
from pymongo.errors import OperationFailure

from service.embedded.replica_set import REPLICA_SET, become_primary

USER, MECHANISM = "auth-collections", "SCRAM-SHA-256"
ALREADY_EXISTS = 51003
AUTHENTICATION_FAILED = 18
# The rights of everyone but the owner.
OTHERS = 0o077
# Milliseconds to look for a server that accepts connections already.
SELECTION_MS = 5_000
Client = MongoClient[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class FolderAccess:
    """The secrets of one folder: `password` is that of USER, `key` that of the members of the set."""

    key_file: Path
    key: str = field(repr=False)
    password: str = field(repr=False)

    @property
    def options(self) -> list[str]:
        """Arguments of a mongod that refuses every other client."""
        closed = [
            "enableLocalhostAuthBypass=false",
            # A random password needs no work that slows guessing down, and each new client of the service does that work.
            "scramSHA256IterationCount=5000",
        ]
        arguments = [part for option in closed for part in ("--setParameter", option)]
        return ["--replSet", REPLICA_SET, "--keyFile", str(self.key_file), *arguments]

    def uri(self, port: int) -> str:
        """The URI of the service and its commands; it holds the password."""
        return f"mongodb://{USER}:{self.password}@127.0.0.1:{port}/?directConnection=true"

    def connect(self, port: int) -> Client:
        """A client that may do everything, also before there is a user."""
        return _connect(port, username="__system", password=self.key, authSource="local", authMechanism=MECHANISM)

    def prepare(self, port: int) -> None:
        """The server is the primary of its set, and has USER with this password. Raises ConfigurationError, PyMongoError."""
        with self.connect(port) as client:
            become_primary(client, port)
            if not self._opens(port):
                _keep_user(client, self.password)

    def _opens(self, port: int) -> bool:
        try:
            with _connect(port, username=USER, password=self.password) as client:
                client.admin.command("ping")
        except OperationFailure as error:
            if error.code != AUTHENTICATION_FAILED:
                raise
            return False
        return True


def connect_openly(port: int) -> Client:
    """A client without a password, for a server that an older version of the service started."""
    return _connect(port)


def _connect(port: int, **credentials: Any) -> Client:
    return MongoClient("127.0.0.1", port, directConnection=True, serverSelectionTimeoutMS=SELECTION_MS, **credentials)


def read_access(folder: Path) -> FolderAccess:
    """The secrets of `folder`, which are made on its first use. Raises OSError."""
    key_file = folder / "keyfile"
    return FolderAccess(
        key_file,
        _keep(key_file, lambda: base64.b64encode(secrets.token_bytes(48)).decode()),
        _keep(folder / "password", lambda: secrets.token_urlsafe(32)),
    )


def _keep(path: Path, make: Callable[[], str]) -> str:
    """An empty file has lost its secret. mongod refuses a key that others may read, as a copy of the folder may leave it."""
    found = keep_secret(path, make)
    if not found:
        path.unlink()
        found = keep_secret(path, make)
    if path.stat().st_mode & OTHERS:
        path.chmod(0o600)
    return found


def _keep_user(client: Client, password: str) -> None:
    """Makes USER, or gives it the password of a folder that has lost its old one."""
    account: dict[str, Any] = {"pwd": password, "roles": ["root"], "mechanisms": [MECHANISM]}
    try:
        client.admin.command("createUser", USER, **account)
    except OperationFailure as error:
        if error.code != ALREADY_EXISTS:
            raise
        client.admin.command("updateUser", USER, **account)


def keep_secret(path: Path, make: Callable[[], str]) -> str:
    """The text of the file at `path`, which is made where it is missing. Raises OSError.

    A link to a finished file appears at once and once, so two first uses agree on one secret.
    """
    if not path.exists():
        draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(make())
            file.flush()
            os.fsync(descriptor)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text(errors="replace").strip()
