"""The feed: one log of what was written in the deployment, and the readers of a project's own events."""

from collections.abc import Callable

from service.domain.collections.catalog import Catalogs
from service.domain.feed.leader import FeedLeader
from service.domain.feed.reader import Feed
from service.domain.projects import Foundation
from service.storage.client import Client


def build_feed(base: Foundation, catalogs: Catalogs, connect: Callable[[], Client], *, days: int) -> Feed:
    """`connect` makes the client of the leader's change stream; events are kept for `days`."""
    return Feed(base.databases, catalogs, FeedLeader(base.databases, connect, days=days), days=days)
