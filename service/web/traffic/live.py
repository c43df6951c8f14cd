"""The live stream of a project: its requests as they come, and its rates, as server-sent events."""

from collections.abc import Collection
from contextlib import ExitStack

from starlette.requests import Request
from starlette.responses import Response

from service.bounds import MAX_UNSENT_BYTES
from service.domain.access.caller import OperatorCaller
from service.domain.permissions import Access
from service.domain.traffic.live import TOPICS
from service.errors import Busy, Invalid, ProjectNotFound, ServiceError, TooManySockets, Unavailable
from service.schema.values import BadValue
from service.services import Services
from service.web.asgi.deadlines import is_stopping
from service.web.auth.authenticate import Credential
from service.web.http.query_values import read_values
from service.web.openapi.declaration import TEXT, Content, Parameter, Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint
from service.web.realtime.event_streams import EventSink, EventStream

EVENTS = Content(schema=TEXT, media_type="text/event-stream")
COMMENT = b":\n\n"


class LiveWatcher:
    """A client that watches a project."""

    def __init__(self, sink: EventSink, caller: OperatorCaller, services: Services, topics: Collection[str]) -> None:
        self.topics, self.holder = topics, caller.admin.operator_id
        self._sink, self._caller, self._services = sink, caller, services

    def write(self, topic: str, data: bytes) -> None:
        """A client that does not read is cut off: it would only see what was long ago."""
        if self._sink.waiting() > MAX_UNSENT_BYTES:
            if self._sink.outlet is not None:
                self._sink.outlet.cut()
            self._sink.end()
            return
        self._sink.push(b"event: %s\ndata: %s\n\n" % (topic.encode(), data))

    def comment(self) -> None:
        self._sink.push(COMMENT)

    async def check(self) -> None:
        if not await self._may_watch():
            self._sink.end()

    async def _may_watch(self) -> bool:
        try:
            await self._services.base.projects.by_id(self._caller.project.id)
        except ProjectNotFound:
            return False
        except ServiceError:
            # The database is away: what was allowed goes on.
            return True
        return await self._caller.is_allowed()


@endpoint(
    f"GET {IN_PROJECT}/live",
    credential=Credential.OPERATOR_IN_PROJECT,
    tag=Tag.PROJECTS,
    operator=Access("logs", "read"),
    description="Server-sent events: `requests`, `{entries, skipped}`, each second that has any; `usage`, `{requests_per_s, "
    "errors_per_s, p95_ms, sockets}` of the last 30 seconds, every 2 seconds. The stream ends with the session.",
    parameters=(
        Parameter(
            name="topics",
            description="The kinds of events, with commas between them: `requests,usage`.",
            schema={"type": "string", "pattern": "^(requests|usage)(,(requests|usage))*$"},
            required=True,
        ),
    ),
    answer=Success("The events", content=(EVENTS,)),
    errors=(Busy, TooManySockets),
    takes_head=False,
)
async def watch_project(request: Request, caller: OperatorCaller, services: Services) -> Response:
    """Follow the requests and rates of a project."""
    values = read_values(request.scope["query_string"], {"topics": _read_topics})
    if "topics" not in values:
        raise Invalid.one(("query", "topics"), "This is missing", type_="missing")
    if is_stopping(request):
        raise Unavailable("The service is stopping; try again")
    sink = EventSink(caller)
    watcher = LiveWatcher(sink, caller, services, values["topics"])
    with ExitStack() as stack:
        services.traffic.live.join(caller.project.id, watcher)
        stack.callback(services.traffic.live.leave, caller.project.id, watcher)
        return EventStream(sink, stack.pop_all())


def _read_topics(text: str) -> frozenset[str]:
    topics = frozenset(text.split(","))
    if not topics <= set(TOPICS):
        raise BadValue(f"must be of {', '.join(TOPICS)}")
    return topics
