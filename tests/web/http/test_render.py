"""Values that JSON has no form for, as answers have them; and errors that several requests share."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from bson import ObjectId
from starlette.requests import Request
from starlette.responses import Response

from faults.samples import FORM_TYPE, account, form
from service.errors import CollectionNotFound, ServiceError
from service.schema.values import write_time
from service.services import Services
from service.storage.ids import new_id
from service.web.http.forms import read_submission
from service.web.http.render import render_error, write_json
from tests.conftest import Api

# As MongoDB gives them: UTC, and none of Python's time zones.
LAST = datetime(2026, 1, 31, 23, 59, 59, 999_000, tzinfo=UTC).replace(tzinfo=None)


def test_each_time_is_written_as_it_is_whatever_was_written_before() -> None:
    again, next_ = LAST.replace(), LAST + timedelta(milliseconds=1)
    times = [LAST, again, next_, next_, LAST, LAST.replace(microsecond=0), LAST.replace(microsecond=1)]
    assert json.loads(write_json(times)) == [write_time(each) for each in times]
    assert json.loads(write_json([LAST]))[0] == "2026-01-31T23:59:59.999Z"


def test_what_another_program_stored_is_told_as_text_between_times() -> None:
    id_ = ObjectId()
    assert json.loads(write_json([LAST, id_, LAST])) == [write_time(LAST), str(id_), write_time(LAST)]


async def send_form(services: Services, api: Api, check: Callable[[Any], Awaitable[None]]) -> Response:
    """The answer to a form whose fields `check` refuses."""
    body = form(account())

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    headers = [(name.encode(), value.encode()) for name, value in FORM_TYPE.items()]
    request = Request({"type": "http", "method": "POST", "path": "/", "headers": headers, "state": {}}, receive)
    try:
        async with read_submission(request, services.files, api.project, new_id(), check):
            pass
    except ServiceError as error:
        return await render_error(request, error)
    raise AssertionError("the form was taken")


async def test_v35_an_error_that_requests_share_is_not_changed(services: Services, api: Api) -> None:
    """Requests that wait for one load of a cache are given one error object."""
    shared = CollectionNotFound()

    async def refuse(_: Any) -> None:
        raise shared

    answer = await send_form(services, api, refuse)
    assert (answer.status_code, answer.headers["connection"]) == (404, "close")
    assert shared.headers == {}
    other = await render_error(Request({"type": "http", "method": "GET", "path": "/", "headers": []}), shared)
    assert "connection" not in other.headers
