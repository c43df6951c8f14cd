"""Codes and links of mails as what works once, for `faults.once`."""

from itertools import count
from typing import Any

import httpx2

from faults.commands import KEY
from faults.processes import headers
from service.app import Application
from service.domain.mail_flows.outgoing import Contents, open_contents
from service.domain.projects.secrets import SecretBox
from service.settings import Settings

NUMBERS = count()


class Mailbox:
    """The mails of the application, in projects with `EMAIL_VERIFICATION=optional` and no mail server."""

    def __init__(self, app: Application, http: httpx2.AsyncClient, key: str, secret: bytes | None = None) -> None:
        self._flows = app.services.base.databases.system["flows"]
        self._box = SecretBox(secret or Settings.model_validate({"secret_key": KEY}).secret)
        self._http = http
        self._key = key

    async def make_code(self) -> tuple[str, dict[str, Any]]:
        flow_id, mail = await self._sign_up()
        return "/auth-collections/confirm", {"flow_id": flow_id, "code": mail.code}

    async def make_link(self) -> tuple[str, dict[str, Any]]:
        _, mail = await self._sign_up()
        return "/auth-collections/confirm", {"token": mail.link.partition("?t=")[2]}

    async def _sign_up(self) -> tuple[str, Contents]:
        """Signs up a new user and returns the flow's id and the mail."""
        body = {"email": f"r{next(NUMBERS)}@example.com", "password": "correct horse"}
        answer = await self._http.post("/auth-collections/signup", json=body, headers=headers(self._key))
        flow_id = answer.json()["flow_id"]
        found = await self._flows.find_one({"_id": flow_id})
        contents = open_contents(self._box, found or {})
        if contents is None:
            raise RuntimeError("Nobody was mailed")
        return flow_id, contents
