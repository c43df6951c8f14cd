"""Steps of tests of flows: ask for mails, and read the kept ones."""

from collections.abc import Sequence
from typing import Any

import httpx2

from service.domain.mail_flows.mailbox import Message, read_messages
from service.services import Services
from tests.conftest import Api


async def ask(api: Api, path: str, **body: Any) -> httpx2.Response:
    """As a page of the project, with its publishable key."""
    headers = {"x-api-key": api.publishable_key}
    return await api.http.post(f"/auth-collections/{path}", json=body, headers=headers)


async def mailed(services: Services, api: Api) -> Sequence[Message]:
    """Newest first."""
    return await read_messages(services.flows, api.project.id)


async def newest(services: Services, api: Api, to: str | None = None) -> Any:
    """The newest mail, or the newest to one address."""
    return next(mail for mail in await mailed(services, api) if to in {None, mail.to})


async def verify(services: Services, api: Api, email: str) -> None:
    """A user signs up, and proves the address, with the password of the account."""
    await api.signup(email)
    asked = await ask(api, "verify-email", email=email)
    mail = await newest(services, api, email)
    proof = {"flow_id": asked.json()["flow_id"], "code": mail.code}
    confirmed = await ask(api, "confirm", **proof, password="correct horse")
    assert confirmed.status_code == 200
