"""Readiness: the conditions for serving requests that only the database can answer."""

from service.domain.projects.canary import Canary
from service.domain.projects.data_versions import DataVersions
from service.errors import ConfigurationError, NotReady
from service.storage.databases import Databases


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
