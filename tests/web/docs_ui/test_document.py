"""The first requests for an OpenAPI document of a worker."""

import asyncio
import threading
from typing import Any

import httpx2
import pytest
from starlette.datastructures import State

from service.app import Application
from service.web.docs_ui import endpoints
from service.web.openapi.document import build_document


async def test_the_first_readers_wait_for_one_document_that_a_thread_makes(
    running_app: Application, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def note(*arguments: Any) -> dict[str, Any]:
        threads.append(threading.current_thread())
        return build_document(*arguments)

    monkeypatch.setattr(running_app, "state", State())
    monkeypatch.setattr(endpoints, "build_document", note)
    answers = await asyncio.gather(*(http.get("/openapi.json") for _ in range(5)))
    assert {answer.content for answer in answers} == {(await http.get("/openapi.json")).content}
    (made_by,) = threads
    assert made_by is not threading.current_thread()
