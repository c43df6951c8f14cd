"""Readiness: the conditions for serving requests that only the database can answer."""

from service.domain.projects.data_versions import DataVersions
from service.domain.projects.secrets import SecretBox
from service.errors import ConfigurationError, NotReady
from service.storage.databases import Databases
from service.storage.projects import ProjectStore

WORD = "canary"


class Canary:
    """The canary of this service's database."""

    def __init__(self, store: ProjectStore, secret_box: SecretBox) -> None:
        self._store = store
        self._secret_box = secret_box

    async def check(self) -> None:
        """Opens the canary; makes it if there is none. Raises ConfigurationError under another SECRET_KEY."""
        if (sealed := await self._store.find_canary()) is None:
            sealed = await self._make()
        self._secret_box.open(sealed, WORD)

    async def _make(self) -> str:
        """The stored canary: of two made at once, one stays. Earlier sealed values must open first."""
        if (record := await self._store.find_any()) is not None:
            self._secret_box.open(record["signing_key"], f"{record['_id']}/signing_key")
        return await self._store.keep_canary(self._secret_box.seal(WORD, WORD))


async def check_readiness(databases: Databases, canary: Canary, versions: DataVersions) -> None:
    """Returns if MongoDB takes writes and transactions, holds no newer data, and SECRET_KEY opens the stored secrets.

    Raises NotReady with the cause, Unavailable when MongoDB does not answer.
    """
    server = await databases.hello()
    if server.topology == "standalone":
        raise NotReady(
            "MongoDB is a standalone, which has no transactions: a replica set or a sharded cluster is needed"
        )
    if not server.is_writable:
        raise NotReady("this member of MongoDB takes no writes")
    await versions.check()
    try:
        await canary.check()
    except ConfigurationError as error:
        raise NotReady(error.detail) from error
