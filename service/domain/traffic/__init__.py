"""The traffic of a deployment: a log of its requests, bounded in bytes and in writes a second."""

from service.domain.projects import Foundation
from service.domain.traffic.request_log import RequestLog
from service.domain.traffic.ring import Ring
from service.storage.request_log import RequestLogStore


def build_traffic(base: Foundation, *, megabytes: int) -> RequestLog:
    """Without megabytes no request is noted."""
    return RequestLog(Ring() if megabytes else None, RequestLogStore(base.databases, megabytes * 1_048_576))
