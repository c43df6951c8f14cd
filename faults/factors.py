"""Second factors as what works once, for `faults.once`: each race has a user of its own, whose sign-ins wait at once."""

import time
from itertools import count
from typing import Any

from faults.commands import KEY
from service.app import Application
from service.domain.accounts import factor_codes
from service.domain.accounts.factor_codes import hash_codes, new_codes
from service.domain.projects.lookup import Project
from service.domain.projects.secrets import SecretBox, place_of_totp
from service.domain.sessions.pending import Recognized
from service.domain.sessions.sessions import PASSWORD, Client
from service.errors import FactorRequired
from service.schema.values import now
from service.settings import Settings
from service.storage.account_states import TOTP
from service.storage.factors import Factor, find_state, totp_document
from service.storage.ids import new_id
from service.storage.users import FIRST_VERSION, NewUser

NUMBERS = count()
PATH = "/auth-collections/login-factor"
CLIENT = Client("127.0.0.1", "races")

# The path, and what each of those who race sends: everybody has a flow, so that it is the factor that decides.
Bodies = tuple[str, list[dict[str, Any]]]


class Holders:
    """Users with an app and recovery codes."""

    def __init__(self, app: Application, project: Project, at_once: int, secret: bytes | None = None) -> None:
        self._app = app
        self._project = project
        self._at_once = at_once
        self._box = SecretBox(secret or Settings.model_validate({"secret_key": KEY}).secret)

    async def make_totp(self) -> Bodies:
        secret, _, flows = await self._make()
        code = factor_codes.code_at(secret, time.time())
        return PATH, [{"flow_id": flow_id, "totp": code} for flow_id in flows]

    async def make_recovery_code(self) -> Bodies:
        _, codes, flows = await self._make()
        return PATH, [{"flow_id": flow_id, "recovery_code": codes[0]} for flow_id in flows]

    async def _make(self) -> tuple[str, list[str], list[str]]:
        """The secret of an app, recovery codes, and flows of sign-ins that wait for one of them."""
        project, secret, codes, moment = self._project, factor_codes.new_secret(), new_codes(), now()
        email = f"holder{next(NUMBERS)}@example.com"
        user = await project.users.insert(NewUser(email, email, {}))
        factor = Factor(new_id(), TOTP, "phone", moment, moment)
        sealed = self._box.seal(secret, place_of_totp(project.id, factor.id))
        fields = {"totp": totp_document(factor, sealed, step=0), "recovery": hash_codes(codes)}
        await project.database.records("users").update_one({"_id": user.id}, {"$set": fields})
        return secret, codes, [await self._wait(user.id) for _ in range(self._at_once)]

    async def _wait(self, user_id: str) -> str:
        state = await find_state(self._project.database, user_id)
        if state is None:
            raise RuntimeError("The user is gone")
        try:
            recognized = Recognized(user_id, FIRST_VERSION, PASSWORD)
            await self._app.services.sessions.admit(self._project, recognized, CLIENT, state)
        except FactorRequired as error:
            return error.flow_id
        raise RuntimeError("Nobody was asked for a factor")
