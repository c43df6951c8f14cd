"""The checks of `auth-collections check` in MongoDB itself."""

from service.cli.findings import Finding
from service.storage.databases import Databases
from service.storage.server_settings import (
    IMAGE_SECONDS,
    TRANSACTION_SECONDS,
    asks_for_password,
    read_image_seconds,
    read_transaction_seconds,
)

OLDEST_VERSION = (6, 0)
# The versions on which the tests run.
TESTED_VERSIONS = ((6, 0),)
# Images outlive the cursor of a change feed, and are gone within an hour.
IMAGE_RANGE = (60, 3_600)
SET_IMAGES = (
    "db.adminCommand({setClusterParameter: {changeStreamOptions: {preAndPostImages: "
    f"{{expireAfterSeconds: {IMAGE_SECONDS}}}}}}}}})"
)
SET_TRANSACTIONS = f"start mongod with --setParameter transactionLifetimeLimitSeconds={TRANSACTION_SECONDS}"


async def check_mongodb(databases: Databases) -> list[Finding]:
    """Raises Unavailable when MongoDB does not answer."""
    version, topology = await databases.version(), (await databases.hello()).topology
    return [
        check_version(version),
        Finding(
            topology != "standalone", f"topology: {topology} (transactions need a replica set or a sharded cluster)"
        ),
        Finding(
            await asks_for_password(databases),
            "a password for MongoDB (start it with --keyFile or --auth, and name a user of it in MONGODB_URI)",
        ),
        _check_images(await read_image_seconds(databases)),
        _check_transactions(await read_transaction_seconds(databases)),
    ]


def check_version(version: str) -> Finding:
    """`version` is such as 8.0.4."""
    numbers = tuple(int(part) for part in version.split(".")[:2])
    tested = ", ".join(f"{major}.{minor}" for major, minor in TESTED_VERSIONS)
    good = None if numbers >= OLDEST_VERSION and numbers not in TESTED_VERSIONS else numbers >= OLDEST_VERSION
    return Finding(good, f"MongoDB {version} (6.0 or newer is needed; the tests of this version ran on {tested})")


def _check_images(seconds: float | None) -> Finding:
    if seconds is None:
        return Finding(None, f"images of changes: this user may not read how long they stay ({SET_IMAGES})")
    shortest, longest = IMAGE_RANGE
    stay = "until the oplog forgets them" if seconds == float("inf") else f"{seconds:,.0f} s"
    return Finding(shortest <= seconds <= longest, f"images of changes stay {stay} ({SET_IMAGES})")


def _check_transactions(seconds: float | None) -> Finding:
    if seconds is None:
        return Finding(None, f"transactions: this user may not read how long one may live ({SET_TRANSACTIONS})")
    return Finding(
        seconds <= TRANSACTION_SECONDS,
        f"a transaction of a server that was killed holds its documents for up to {seconds:,.0f} s ({SET_TRANSACTIONS})",
    )
