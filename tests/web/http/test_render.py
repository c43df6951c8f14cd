"""What JSON has no form for, as answers have it."""

import json
from datetime import UTC, datetime, timedelta

from bson import ObjectId

from service.schema.values import write_time
from service.web.http.render import write_json

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
