"""The examples of docs/aggregations.md give the rows that stand beneath them."""

import json
import re
from pathlib import Path
from typing import Any

from tests.conftest import Api
from tests.web.aggregations.conftest import rows_of

PAGE = Path(__file__).parents[3] / "docs/aggregations.md"
SCHEMAS, DOCUMENTS, *EXAMPLES = map(json.loads, re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL))
DEFINITION = re.compile(r"/api/aggregations/by_city -d '(\{.*?\})'", re.DOTALL)


async def make_example(api: Api) -> None:
    for name, schema in SCHEMAS.items():
        made = await api.request("POST", "/api/collections", json={"name": name, "schema": schema})
        assert made.status_code == 201, made.text
    ids = [await create(api, "buyers", buyer) for buyer in DOCUMENTS["buyers"]]
    for order in DOCUMENTS["orders"]:
        await create(
            api, "orders", {name: ids[value] if name == "buyer_id" else value for name, value in order.items()}
        )


async def create(api: Api, collection: str, data: dict[str, Any]) -> str:
    made = await api.request("POST", f"/api/collections/{collection}/documents", json={"data": data})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def test_every_example_of_the_page_gives_its_rows(api: Api) -> None:
    await make_example(api)
    bodies, rows = EXAMPLES[::2], EXAMPLES[1::2]
    assert len(bodies) == len(rows) > 5
    for body, expected in zip(bodies, rows, strict=True):
        assert await rows_of(api, body) == expected


async def test_the_saved_one_of_the_page_runs(api: Api) -> None:
    await make_example(api)
    (definition,) = DEFINITION.findall(PAGE.read_text())
    made = await api.request("PUT", "/api/aggregations/by_city", content=definition)
    assert made.status_code == 201, made.text
    ran = await api.request("GET", "/api/aggregations/by_city?since=2026-01-01&status=paid")
    assert ran.json()["rows"] == [
        {"city": None, "orders": 1},
        {"city": "Lyon", "orders": 1},
        {"city": "Paris", "orders": 2},
    ]
