"""The traffic of a deployment: its requests by hour, and a log of them, bounded in bytes and in writes a second."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from service.domain.projects import Foundation
from service.domain.traffic.live import LivePolls
from service.domain.traffic.request_log import RequestLog
from service.domain.traffic.tally import Ring
from service.domain.traffic.usage import Usage
from service.storage.request_log import RequestLogStore
from service.storage.usage import UsageStore


@dataclass(frozen=True, slots=True)
class Traffic:
    """The log of requests, their counts, and what operators watch of both."""

    log: RequestLog
    usage: Usage
    live: LivePolls


def build_traffic(base: Foundation, count_sockets: Callable[[], Mapping[str, int]], *, megabytes: int) -> Traffic:
    """Without megabytes no request is noted; all are counted. `count_sockets` has those of this worker, by project."""
    requests, usage = RequestLogStore(base.databases, megabytes * 1_048_576), UsageStore(base.databases)
    log = RequestLog(Ring() if megabytes else None, requests)
    return Traffic(log, Usage(usage, count_sockets), LivePolls(requests, usage))
