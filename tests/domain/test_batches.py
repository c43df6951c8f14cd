"""Outcomes of a batch hold nothing but what is answered."""

import gc
import weakref
from typing import Any

from service.domain.access.caller import SecretKeyCaller
from service.domain.batches.steps import Step
from service.domain.documents.writes import Get
from service.errors import ConditionFailed, ServiceError, Unavailable
from service.services import Services
from tests.conftest import Api


async def test_v4_refused_operations_of_a_batch_keep_no_frames(api: Api, services: Services) -> None:
    """A frame holds the record that was judged, and its values sorted into sets: megabytes for each operation."""
    steps = [Step("users", Get("0" * 24)) for _ in range(3)]
    outcomes = await services.batches.run_each(SecretKeyCaller(api.project), steps)
    errors = [each for each in outcomes if isinstance(each, ServiceError)]
    assert [each.code for each in errors] == ["user_not_found"] * 3
    assert [each.operation for each in errors] == [0, 1, 2]
    assert [(each.__traceback__, each.__context__, each.__cause__) for each in errors] == [(None, None, None)] * 3


def test_v4_a_kept_error_holds_no_frame() -> None:
    class Large:
        pass

    def fail() -> tuple[ServiceError, "weakref.ref[Any]"]:
        large = Large()
        try:
            try:
                raise Unavailable
            except Unavailable as cause:
                raise ConditionFailed from cause
        except ConditionFailed as error:
            return error.kept(), weakref.ref(large)

    kept, large = fail()
    gc.collect()
    assert large() is None
    assert kept.body() == ConditionFailed().body()
