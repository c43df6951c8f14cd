"""The invariants after every attack (I1 to I4): a clean refusal, nothing stored, service goes on, no other project
touched.
"""

import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import pytest

from faults.waiting import waiting_for
from service.storage.layout import EVENTS, SESSIONS
from tests.conftest import Api, MakeApi
from tests.pool import Pool

# A token of some hundred letters has "bson" in it now and then, though not as a word.
INTERNALS = re.compile(
    r"Traceback|pymongo|E11000|errInfo|\$2b\$|mongodb://|/service/|site-packages|\bbson\b|InvalidBSON", re.IGNORECASE
)
# So much of this process's own time the next good request may take (I3): on the wall, other processes are in it.
PROMPT_SECONDS = 0.5


def assert_refused(response: httpx2.Response, *statuses: int) -> None:
    """I1: one of `statuses`, as our own JSON error, with nothing internal in body or headers."""
    assert response.status_code in statuses, response.text
    body = response.json()
    assert body.keys() <= {"detail", "code", "request_id"}
    assert body["detail"]
    assert not INTERNALS.search(response.text + str(response.headers))
    if response.status_code == 422:
        assert all(error.keys() == {"loc", "msg", "type"} for error in body["detail"])
        assert all(error["loc"][0] in {"body", "query", "path"} for error in body["detail"])


@dataclass
class Victim:
    """A project under attack, with one user and that user's token, beside another project."""

    api: Api
    other: Api
    token: str
    user: dict[str, Any]
    before: dict[str, Any] = field(default_factory=dict)

    def stored(self) -> dict[str, Any]:
        """Everything both projects hold, but sessions and events: each sign-in makes one, and a refused one an event."""
        return {
            f"{api.project.id}.{name}": list(api.database[name].find({}, {"last_sign_in_at": 0}).sort("_id", 1))
            for api in (self.api, self.other)
            for name in api.database.list_collection_names()
            if name not in {SESSIONS, EVENTS}
        }

    async def as_user(self, method: str, **kwargs: Any) -> httpx2.Response:
        return await self.api.as_user(self.token, method, "/auth-collections/user", **kwargs)

    async def raw(self, path: str, content: bytes | AsyncIterator[bytes], **headers: str) -> httpx2.Response:
        """A POST of just these bytes, as JSON unless a header says otherwise."""
        sent = {"content-type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.api.request("POST", path, content=content, headers=sent)


async def make_victim(make_api: MakeApi) -> Victim:
    api, other = await make_api(), await make_api()
    body = (await api.signup("victim@example.com", "victim's password", name="Vic", age=40)).json()
    await other.signup("other@example.com", "other's password", secret="theirs")
    return Victim(api, other, body["access_token"], body["user"])


@pytest.fixture
async def fresh_victim(make_api: MakeApi) -> Victim:
    """Two projects with a user each; the test itself says what may be stored."""
    return await make_victim(make_api)


@pytest.fixture(scope="module")
async def unharmed(pool: Pool) -> AsyncIterator[list[tuple[int, Victim]]]:
    """The victim of attacks that left no trace, for the next of them, with the time of the pool at which it was made."""
    victims: list[tuple[int, Victim]] = []
    yield victims
    await pool.empty()


@pytest.fixture
async def victim(
    unharmed: list[tuple[int, Victim]], pool: Pool, maker: MakeApi, http: httpx2.AsyncClient
) -> AsyncIterator[Victim]:
    """As `fresh_victim`, for attacks that must leave no trace: I2, I3 and I4 are checked after the test."""
    made, attacked = unharmed.pop() if unharmed else (-1, None)
    # Another test may have emptied everything since.
    if attacked is None or made != pool.times:
        attacked = await make_victim(maker)
    # The client is of one test.
    attacked = replace(attacked, api=replace(attacked.api, http=http), other=replace(attacked.other, http=http))
    before = attacked.stored()
    yield attacked
    assert attacked.stored() == before
    started = time.process_time()
    async with waiting_for("the answer to the next good request"):
        assert (await attacked.as_user("GET")).status_code == 200
    assert time.process_time() - started < PROMPT_SECONDS
    unharmed.append((pool.times, attacked))
