"""Periodic work of the service itself."""

from functools import partial

from service.bounds import MAX_LONG_JOBS
from service.domain.accounts import Accounts
from service.domain.accounts.anonymous import END_SECONDS, end_unused
from service.domain.events import EVERY_SECONDS as EVENT_SECONDS
from service.domain.events import Journal
from service.domain.feed.leader import LOOK_SECONDS as FEED_SECONDS
from service.domain.feed.leader import FeedLeader
from service.domain.files.sweep import SWEEP_EVERY_SECONDS, sweep_files
from service.domain.jobs import Job, Jobs, Leader
from service.domain.limits.limiter import TICK_SECONDS, Limits
from service.domain.mail_flows.outbox import Outbox
from service.domain.operators.uses import EVERY_SECONDS as USE_SECONDS
from service.domain.operators.uses import Uses
from service.domain.portable.jobs import JobRunner
from service.domain.projects.data_versions import LOOK_SECONDS
from service.domain.projects.every import for_each_project, raise_first
from service.domain.projects.lookup import Projects
from service.domain.sessions.sightings import EVERY_SECONDS as NOTE_SECONDS
from service.domain.sessions.sightings import Sightings
from service.domain.traffic import Traffic
from service.domain.traffic.request_log import EVERY_SECONDS as TRAFFIC_SECONDS
from service.domain.traffic.request_log import SIZE_SECONDS
from service.domain.traffic.usage import EVERY_SECONDS as USAGE_SECONDS
from service.domain.traffic.usage import LOOK_SECONDS as SIZES_SECONDS
from service.foundation import Foundation
from service.storage.closed_collections import sweep_closed
from service.storage.databases import Databases

# Seconds until a worker notices that a database is profiled.
PROFILE_SECONDS = 60.0
# Seconds between two searches for projects to migrate, and to delete.
MIGRATE_SECONDS = 1.0
DELETE_SECONDS = 3.0
# Seconds after which the last use of a key is written; one write for all keys of a worker.
KEY_SECONDS = 30.0
# Seconds between two looks for long jobs that wait.
LONG_JOB_SECONDS = 1.0
# Seconds until the leader first measures the projects.
FIRST_SIZES_SECONDS = 15.0


def build_jobs(
    base: Foundation,
    limits: Limits,
    accounts: Accounts,
    journal: Journal,
    uses: Uses,
    traffic: Traffic,
    runner: JobRunner,
    feed: FeedLeader,
) -> Jobs:
    """They run when they are started."""
    jobs = [
        *_projects(base),
        *_records(base.projects, limits, accounts.flows.outbox, accounts.sessions.sightings, journal),
        _operators(uses),
        *_traffic(base, traffic),
        *_long_jobs(runner),
        Job("feed", feed.run, every=FEED_SECONDS, for_deployment=True),
        *_sweeps(base.databases),
        Job(
            "anonymous", partial(end_unused, accounts, base), every=END_SECONDS, delay=END_SECONDS, for_deployment=True
        ),
    ]
    return Jobs(jobs, Leader(base.leases), lambda: base.versions.is_newer)


def _projects(base: Foundation) -> list[Job]:
    return [
        Job("versions", base.versions.look, every=LOOK_SECONDS, only_reads=True),
        Job("prepare", base.migrations.migrate_system),
        Job("migrate", base.migrator.run_pending, every=MIGRATE_SECONDS),
        Job("profiles", base.databases.watch.refresh, every=PROFILE_SECONDS),
        Job("delete_projects", base.deletions.advance_all, every=DELETE_SECONDS, for_deployment=True),
    ]


def _records(projects: Projects, limits: Limits, outbox: Outbox, sightings: Sightings, journal: Journal) -> list[Job]:
    return [
        Job("mails", outbox.run, every=0.0),
        Job("key_uses", projects.write_key_uses, every=KEY_SECONDS, delay=KEY_SECONDS),
        Job("events", journal.write, every=EVENT_SECONDS, delay=EVENT_SECONDS),
        Job("sightings", sightings.write, every=NOTE_SECONDS, delay=NOTE_SECONDS),
        Job("limits", limits.return_idle_leases, every=TICK_SECONDS, delay=TICK_SECONDS),
    ]


def _operators(uses: Uses) -> Job:
    return Job("operators", uses.write, every=USE_SECONDS, delay=USE_SECONDS)


def _traffic(base: Foundation, traffic: Traffic) -> list[Job]:
    measure = partial(traffic.usage.measure_all, base.store.ids)
    return [
        Job("requests", traffic.log.write, every=TRAFFIC_SECONDS, delay=TRAFFIC_SECONDS),
        Job("request_log", traffic.log.keep_size, every=SIZE_SECONDS, for_deployment=True),
        Job("usage", traffic.usage.write, every=USAGE_SECONDS, delay=USAGE_SECONDS),
        Job("sizes", measure, every=SIZES_SECONDS, delay=FIRST_SIZES_SECONDS, for_deployment=True),
    ]


def _long_jobs(runner: JobRunner) -> list[Job]:
    """Each runs one job at a time, so that as many run at once in the deployment."""
    return [
        Job(f"long_jobs_{number}", runner.run_waiting, every=LONG_JOB_SECONDS, for_deployment=True)
        for number in range(1, MAX_LONG_JOBS + 1)
    ]


def _sweeps(databases: Databases) -> list[Job]:
    return [
        Job(
            "sweep_files",
            partial(sweep_files, databases),
            every=SWEEP_EVERY_SECONDS,
            delay=SWEEP_EVERY_SECONDS,
            for_deployment=True,
        ),
        Job(
            "sweep_collections",
            partial(sweep_collections, databases),
            every=SWEEP_EVERY_SECONDS,
            delay=SWEEP_EVERY_SECONDS,
            for_deployment=True,
        ),
    ]


async def sweep_collections(databases: Databases) -> None:
    """The job: raises the first error, after all projects had their turn."""
    raise_first(await for_each_project(databases, "sweep_failed", sweep_closed))
