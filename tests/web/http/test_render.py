"""What JSON has no form for, as answers have it."""

import json
from datetime import datetime, timedelta

from bson import ObjectId

from service.schema.values import write_time
from service.web.http.render import write_json


def test_each_time_is_written_as_it_is_whatever_was_written_before() -> None:
    moment = datetime(2026, 1, 31, 23, 59, 59, 999_000)
    again, next_ = moment.replace(), moment + timedelta(milliseconds=1)
    times = [moment, again, next_, next_, moment, moment.replace(microsecond=0), moment.replace(microsecond=1)]
    assert json.loads(write_json(times)) == [write_time(each) for each in times]
    assert json.loads(write_json([moment]))[0] == "2026-01-31T23:59:59.999Z"


def test_what_another_program_stored_is_told_as_text_between_times() -> None:
    moment, id_ = datetime(2026, 1, 31), ObjectId()
    assert json.loads(write_json([moment, id_, moment])) == [write_time(moment), str(id_), write_time(moment)]
