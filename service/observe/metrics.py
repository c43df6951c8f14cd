"""Counters and times of the service, for Prometheus. Each layer adds to its own metrics; `web/operations` shows them
all.

With several workers PROMETHEUS_MULTIPROC_DIR names the folder through which they add up (prometheus_client,
"Multiprocess Mode"); `server.py` sets it before this module is first imported.
"""

import os
from functools import lru_cache
from pathlib import Path

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
CACHED_LABELS = 1_000
REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
OPERATION_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"})

REQUESTS = Histogram(
    "http_request_duration_seconds", "Requests answered", ("method", "route", "status"), buckets=REQUEST_SECONDS
)
ERRORS = Counter("service_errors", "Errors answered, by the code that the client was sent", ("code",))
OPERATIONS = Histogram(
    "mongodb_operation_duration_seconds",
    "Calls of the driver, with waiting for a connection and retries, by `ok` or the code of the error",
    ("outcome",),
    buckets=OPERATION_SECONDS,
)
CONNECTIONS = Gauge("mongodb_connections", "Open connections to MongoDB", multiprocess_mode="livesum")
CONNECTIONS_CLOSED = Counter("mongodb_connections_closed", "Connections to MongoDB that ended", ("reason",))
CONNECTION_WAITS = Counter("mongodb_connection_waits", "Operations that waited over 10 ms for a connection")
CONNECTION_FAILURES = Counter("mongodb_connection_failures", "Operations that got no connection", ("reason",))
CAPTCHA_CHECKS = Counter("captcha_checks", "Tokens of CAPTCHAs that were judged", ("outcome",))
RANGE_QUESTIONS = Counter(
    "password_range_questions", "Questions to the service that knows leaked passwords", ("outcome",)
)
LOG_LINES_DROPPED = Counter("log_lines_dropped", "Log lines dropped because their reader was too slow")
HASHES = Histogram("password_hash_duration_seconds", "Password hashes and checks, with their waiting")
HASHES_WAITING = Gauge("password_hashes_in_progress", "Hashes running or waiting", multiprocess_mode="livesum")

MAILS = Counter("mails", "Tries to hand a mail to its SMTP server, by how they ended", ("outcome",))
FEED_OPENED = Counter("change_feed_opened", "Change streams that were opened")
FEED_EVENTS = Counter("change_feed_events", "Changes in followed collections that the change stream delivered")
FEED_DELAY = Histogram(
    "change_feed_delay_seconds",
    "Seconds from a write to its delivery, of the first change of each reply of MongoDB",
    buckets=REQUEST_SECONDS,
)
FEED_LOST = Counter("change_feed_lost", "Change streams that ended by themselves", ("reason",))
EVENT_FEED_LAG = Gauge(
    "feed_lag_seconds", "Seconds from the last write that the feed has to its commit", multiprocess_mode="mostrecent"
)
EVENT_FEED_EVENTS = Counter("feed_events", "Events that the leader of the feed committed")
EVENT_FEED_COMMITS = Counter("feed_commits", "Commits of the feed, with events or of its position alone")
EVENT_FEED_GAPS = Counter("feed_gaps", "Gaps of the feed: MongoDB did not keep what it had not read")
SOCKETS = Gauge("realtime_sockets", "Open sockets that said hello", multiprocess_mode="livesum")
SUBSCRIPTIONS = Gauge("realtime_subscriptions", "Queries that are followed", multiprocess_mode="livesum")
DELIVERIES = Counter("realtime_deliveries", "Frames of changes that were sent")
RESYNCS = Counter("realtime_resyncs", "Subscriptions that began again", ("reason",))

JOB_RUNS = Counter("background_job_runs", "Runs of a background job that succeeded", ("job",))
JOB_FAILURES = Counter("background_job_failures", "Runs of a background job that failed", ("job",))
JOB_LAST_SUCCESS = Gauge(
    "background_job_last_success_timestamp_seconds",
    "When a background job last succeeded",
    ("job",),
    multiprocess_mode="max",
)


@lru_cache(CACHED_LABELS)
def request_series(method: str, route: str, status: int) -> Histogram:
    """`route` is a pattern of the service's own; a client's invented method counts as `other`, so labels stay few."""
    return REQUESTS.labels(method if method in METHODS else "other", route, status)


@lru_cache(CACHED_LABELS)
def operation_series(outcome: str) -> Histogram:
    """The durations of driver calls that ended as `outcome`: `ok`, or the code of an error."""
    return OPERATIONS.labels(outcome)


def exposition() -> bytes:
    """All metrics in Prometheus' text format; of all workers, where there are several."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder is None:
        return generate_latest(REGISTRY)
    _forget_dead_workers(Path(folder))
    registry = CollectorRegistry()
    MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def _forget_dead_workers(folder: Path) -> None:
    """Drops what killed workers left in gauges: their connections are gone. Counters keep their values."""
    for path in folder.glob("gauge_live*.db"):
        pid = int(path.stem.rpartition("_")[2])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]
