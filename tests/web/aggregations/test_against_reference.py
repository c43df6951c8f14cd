"""Random aggregations give what a plain program gives, and large ones make nothing fail: `scripts/fuzz aggregations`."""

import pytest

from faults.aggregations.compare import Target, attack, compare
from tests.conftest import Api

SEED = 20261121


@pytest.fixture
async def target(api: Api) -> Target:
    found = Target(api.http, {"x-api-key": api.key}, api.database)
    await found.declare()
    return found


async def test_random_aggregations_agree_with_the_reference(target: Target) -> None:
    outcome = await compare(target, count=250, seed=SEED)
    assert outcome.faults == []
    assert outcome.answers == {"200": 250}


async def test_large_aggregations_are_answered_or_refused(target: Target) -> None:
    outcome = await attack(target, count=25, seed=SEED, records=12)
    assert outcome.faults == []
    assert outcome.answers["aggregation_too_large"]
