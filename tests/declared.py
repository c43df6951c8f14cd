"""Collections as tests declare and use them, through HTTP."""

from typing import Any

import httpx2

from tests.conftest import Api

Schema = dict[str, Any]


async def declare(api: Api, schema: Schema, name: str = "things") -> None:
    response = await api.request("POST", "/api/collections", json={"name": name, "schema": schema})
    assert response.status_code == 201, response.text


async def change(api: Api, schema: Schema, query: str = "", name: str = "things") -> httpx2.Response:
    return await api.request("PATCH", f"/api/collections/{name}{query}", json={"schema": schema})


async def add(api: Api, data: Any, name: str = "things") -> httpx2.Response:
    return await api.request("POST", f"/api/collections/{name}/documents", json={"data": data})


async def added(api: Api, data: Any, name: str = "things") -> str:
    """The id of a new document."""
    response = await add(api, data, name)
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


async def find(api: Api, query: str = "", name: str = "things") -> httpx2.Response:
    return await api.request("GET", f"/api/collections/{name}/documents{'?' if query else ''}{query}")


async def one(api: Api, method: str, id_: str, data: Any = None, name: str = "things") -> httpx2.Response:
    body = {} if data is None else {"json": {"data": data}}
    return await api.request(method, f"/api/collections/{name}/documents/{id_}", **body)


def violations(response: httpx2.Response) -> list[tuple[Any, ...]]:
    """Each violation of a 422 as (*loc, type)."""
    assert response.status_code == 422, response.text
    body = response.json()
    assert body["code"] == "validation_error"
    assert all(violation["msg"] for violation in body["detail"])
    return [(*violation["loc"], violation["type"]) for violation in body["detail"]]
