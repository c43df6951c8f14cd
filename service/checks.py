"""The checks of the deployment, with a remedy for each finding: for `auth-collections check`, and for operators."""

import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass

from service.domain.access.agreement import find_outgrown, find_stored_email_rules
from service.domain.collections.reconcile import Drift, find_drift
from service.domain.projects.admin import ProjectAdmin, ProjectEntry
from service.errors import ConfigurationError
from service.images.landlock import find_abi
from service.process import raise_file_limit
from service.schema.fields import USERS
from service.storage.databases import Databases
from service.storage.migrations import PROJECT_MIGRATIONS, read_version
from service.storage.server_settings import (
    IMAGE_SECONDS,
    TRANSACTION_SECONDS,
    asks_for_password,
    read_image_seconds,
    read_transaction_seconds,
)

# A collection has up to 64 files, and each client its socket.
ENOUGH_FILES = 16_384
RAISE_FILES = "raise the hard limit: ulimit -Hn, LimitNOFILE of systemd, --ulimit nofile of Docker"
MEND = "mend it by PATCH /api/collections/<name> with "
MEND_PROFILE = "mend it by PUT /auth-collections/schema with the schema in force"
OLDEST_VERSION = (6, 0)
# The versions on which the tests run.
TESTED_VERSIONS = ((6, 0),)
# Images outlive the cursor of a change feed, and are gone within an hour.
IMAGE_RANGE = (60, 3_600)
SET_IMAGES = (
    "db.adminCommand({setClusterParameter: {changeStreamOptions: {preAndPostImages: "
    f"{{expireAfterSeconds: {IMAGE_SECONDS}}}}}}}}})"
)
IMAGES, CHANGES, TRANSACTIONS = "decoding of images", "images of changes", "transactions"
SET_TRANSACTIONS = f"start mongod with --setParameter transactionLifetimeLimitSeconds={TRANSACTION_SECONDS}"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: the state, and the remedy. `good` is None if the check cannot decide."""

    good: bool | None
    name: str
    detail: str
    mend: str = ""

    @property
    def text(self) -> str:
        """The state and the remedy in one line."""
        return f"{self.detail} ({self.mend})" if self.mend else self.detail

    def __str__(self) -> str:
        label = "NOTE " if self.good is None else "ok   " if self.good else "WRONG"
        return f"{label} {self.text}"


async def run_checks(databases: Databases, admin: ProjectAdmin) -> list[Finding]:
    """The findings, most fundamental first. Raises Unavailable when MongoDB does not answer."""
    return [finding async for finding in find_each(databases, admin)]


async def find_each(databases: Databases, admin: ProjectAdmin) -> AsyncIterator[Finding]:
    """The same, one after the other: a deployment of many projects takes a while. Raises Unavailable."""
    files = raise_file_limit()
    mend = f"{ENOUGH_FILES:,} are enough; {RAISE_FILES}"
    yield Finding(files >= ENOUGH_FILES, "open files", f"open files: at most {files:,}", mend)
    yield _check_images()
    for finding in await check_mongodb(databases):
        yield finding
    for project in await admin.list():
        yield await _check_key(admin, project.id)
        yield await _check_form(project)
        for finding in await _check_rules(project):
            yield finding
        for name, drift in (await find_drift(project.database)).items():
            yield _describe_drift(project.id, name, drift)


def _describe_drift(project_id: str, name: str, drift: Drift) -> Finding:
    detail = f"project {project_id}, collection {name}: lacks {', '.join(drift.lacks)}"
    remedy = MEND_PROFILE if name == USERS else _remedy(drift)
    return Finding(False, f"collection {project_id}/{name}", detail, remedy)


def _check_images() -> Finding:
    abi = find_abi()
    landlock = f"Landlock, version {abi}" if abi else "no Landlock in this kernel"
    limits = (
        "images are decoded without the service's environment, and can open neither files nor sockets "
        f"(RLIMIT_NOFILE; {landlock})"
    )
    if os.geteuid() == 0:
        return Finding(None, IMAGES, f"{limits}; run the service as another user than root, who may raise that limit")
    return Finding(True, IMAGES, limits)


def _remedy(drift: Drift) -> str:
    """The service repairs most faults at a change of the schema, and refuses one that keeps an unknown pattern."""
    anew = ", ".join(f"{json.dumps(field, ensure_ascii=False)}: {{...}}" for field in drift.unknown_patterns)
    remedy = f'{MEND}{{"schema": {{{anew}}}}}'
    return f"{remedy}: each field with another pattern, or none" if anew else remedy


async def _check_form(project: ProjectEntry) -> Finding:
    """Only reads: what lacks is made by a server that meets the project, or by the command that is named."""
    name = f"form of {project.id}"
    version, latest = await read_version(project.database.database), len(PROJECT_MIGRATIONS)
    missing = await project.database.missing_indexes()
    lacks = [f"lacks the indexes {', '.join(missing)}"] if missing else []
    if version < latest:
        lacks.append(f"is in the form of version {version} of {latest}")
    if version > latest:
        detail = f"project {project.id}: was written by a newer version of the service; run that one"
        return Finding(False, name, detail)
    if lacks:
        detail = f"project {project.id}: {' and '.join(lacks)}"
        return Finding(False, name, detail, "mend it by `auth-collections migrate`")
    detail = f"project {project.id}: users and files have their indexes, in the form of version {version}"
    return Finding(True, name, detail)


async def _check_rules(project: ProjectEntry) -> list[Finding]:
    """The rules stay in force, but no part of them can be changed before the named faults are mended."""
    outgrown = [
        Finding(
            False,
            f"rules of {project.id}",
            f"project {project.id}: its rules cannot be saved again: {list(each.loc[1:])}: {each.msg}",
        )
        for each in await find_outgrown(project.database)
    ]
    emails = [
        Finding(
            True,
            f"rules of {project.id}",
            f"project {project.id}: the rule {list(place[1:])} refuses users who have not proven their $user.email",
        )
        for place in await find_stored_email_rules(project.database)
    ]
    return [*outgrown, *emails]


async def _check_key(admin: ProjectAdmin, project_id: str) -> Finding:
    try:
        await admin.find(project_id)
    except ConfigurationError as error:
        return Finding(False, f"secrets of {project_id}", f"project {project_id}: {error.detail}")
    return Finding(True, f"secrets of {project_id}", f"project {project_id}: SECRET_KEY opens its secrets")


async def check_mongodb(databases: Databases) -> list[Finding]:
    """Raises Unavailable when MongoDB does not answer."""
    version, topology = await databases.version(), (await databases.hello()).topology
    return [
        check_version(version),
        Finding(
            topology != "standalone",
            "topology",
            f"topology: {topology}",
            "transactions need a replica set or a sharded cluster",
        ),
        Finding(
            await asks_for_password(databases),
            "password",
            "a password for MongoDB",
            "start it with --keyFile or --auth, and name a user of it in MONGODB_URI",
        ),
        _check_change_images(await read_image_seconds(databases)),
        _check_transaction_time(await read_transaction_seconds(databases)),
    ]


def check_version(version: str) -> Finding:
    """`version` is such as 8.0.4."""
    numbers = tuple(int(part) for part in version.split(".")[:2])
    tested = ", ".join(f"{major}.{minor}" for major, minor in TESTED_VERSIONS)
    good = None if numbers >= OLDEST_VERSION and numbers not in TESTED_VERSIONS else numbers >= OLDEST_VERSION
    detail = f"MongoDB {version}"
    return Finding(good, "version", detail, f"6.0 or newer is needed; the tests of this version ran on {tested}")


def _check_change_images(seconds: float | None) -> Finding:
    if seconds is None:
        return Finding(None, CHANGES, "images of changes: this user may not read how long they stay", SET_IMAGES)
    shortest, longest = IMAGE_RANGE
    stay = "until the oplog forgets them" if seconds == float("inf") else f"{seconds:,.0f} s"
    return Finding(shortest <= seconds <= longest, CHANGES, f"images of changes stay {stay}", SET_IMAGES)


def _check_transaction_time(seconds: float | None) -> Finding:
    if seconds is None:
        detail = "transactions: this user may not read how long one may live"
        return Finding(None, TRANSACTIONS, detail, SET_TRANSACTIONS)
    return Finding(
        seconds <= TRANSACTION_SECONDS,
        TRANSACTIONS,
        f"a transaction of a server that was killed holds its documents for up to {seconds:,.0f} s",
        SET_TRANSACTIONS,
    )
