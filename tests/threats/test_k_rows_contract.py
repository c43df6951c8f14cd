"""Threat row K3: the contract of a project at its bounds, asked for many times at once, costs the others little."""

import asyncio
from typing import Any

from service.bounds import MAX_FIELDS
from service.domain import contracts
from service.domain.contracts import ProjectState, Text, WantedText, write_text
from service.schema.values import now
from tests.conftest import Api, MakeApi
from tests.loop_watch import LoopWatch

COLLECTIONS, ASKING = 200, 50
# Without a body: the client of the test reads its answers on the same loop.
HAS_IT = {"if-none-match": "*"}
# A step of the loop, in seconds of its thread's processor.
LONGEST_STEP = 0.1


def declare_all(api: Api) -> None:
    """As many collections as a project may have, with as many fields, past the service: making them takes minutes."""
    schema: dict[str, Any] = {f"field{number}": {"type": "string"} for number in range(MAX_FIELDS)}
    moment = now()
    api.database["collections"].insert_many(
        {"_id": f"c{number}", "schema": schema, "created_at": moment, "updated_at": moment}
        for number in range(COLLECTIONS)
    )


async def test_k3_a_contract_at_its_bounds_is_made_once_beside_the_requests(
    make_api: MakeApi, monkeypatch: Any
) -> None:
    hostile, neighbour = await make_api(), await make_api()
    declare_all(hostile)
    made: list[str] = []

    def count(state: ProjectState, wanted: WantedText) -> Text:
        made.append(wanted.kind)
        return write_text(state, wanted)

    monkeypatch.setattr(contracts, "write_text", count)
    urls = ["/api/openapi.json", "/api/types?language=typescript"]
    asked = [asyncio.create_task(hostile.request("GET", url, headers=HAS_IT)) for url in urls * (ASKING // 2)]
    answers = 0
    async with LoopWatch() as watch:
        while not all(task.done() for task in asked):
            assert (await neighbour.users()).status_code == 200
            answers += 1
    assert {(await task).status_code for task in asked} <= {304, 413}
    assert sorted(made) == ["openapi/", "typescript"]
    assert answers > 1
    assert watch.longest < LONGEST_STEP
