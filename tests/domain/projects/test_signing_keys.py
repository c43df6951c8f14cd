"""Row S10: the key that signs a project's user tokens is replaced, and every token that was good stays so."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx2
import jwt as pyjwt
import pytest
from pymongo import MongoClient

from faults.waiting import waiting_for
from service.app import Application, create_app
from service.bounds import MAX_SIGNING_KEYS
from service.domain.projects.signing_keys import KNOWN_EVERYWHERE, Rotated
from service.errors import Conflict, ProjectNotFound
from service.schema.values import now
from service.services import Services
from service.settings import Settings
from tests.conftest import BASE_URL, PATIENT, Api

USER = "/auth-collections/user"


def kid_of(token: str) -> str:
    return str(pyjwt.get_unverified_header(token)["kid"])


async def published(api: Api) -> list[dict[str, Any]]:
    answer = await api.http.get(f"/auth-collections/jwks/{api.project.id}")
    keys: list[dict[str, Any]] = answer.json()["keys"]
    assert all("d" not in key for key in keys)
    return keys


async def status(api: Api, token: str) -> int:
    return (await api.as_user(token, "GET", USER)).status_code


async def sign_in(api: Api) -> str:
    return str((await api.login()).json()["access_token"])


class Record:
    """The stored form of a project's keys."""

    def __init__(self, api: Api, mongo: MongoClient[Any], prefix: str) -> None:
        self._projects = mongo[f"{prefix}system"]["projects"]
        self._match = {"_id": api.project.id}

    def age_next(self, **by: float) -> None:
        """As if the next key had been published so long ago."""
        stored = self._projects.find_one(self._match) or {}
        self.set({"next_signing_key.published_at": stored["next_signing_key"]["published_at"] - timedelta(**by)})

    def set(self, changes: dict[str, Any]) -> None:
        assert self._projects.update_one(self._match, {"$set": changes}).matched_count == 1


@pytest.fixture
def record(api: Api, mongo: MongoClient[Any], database_prefix: str) -> Record:
    return Record(api, mongo, database_prefix)


async def rotate(api: Api, services: Services, record: Record) -> Rotated:
    """A rotation in its time."""
    with pytest.raises(Conflict):
        await services.base.signing_keys.rotate(api.project.id, at_once=False)
    record.age_next(minutes=10)
    return await services.base.signing_keys.rotate(api.project.id, at_once=False)


async def test_a_key_is_published_ten_minutes_before_it_signs(api: Api, services: Services, record: Record) -> None:
    assert len(await published(api)) == 1
    with pytest.raises(Conflict, match=r"The next key was published 0 s ago; rotate in (600|599) s, or now with --now"):
        await services.base.signing_keys.rotate(api.project.id, at_once=False)
    current, following = await published(api)
    assert current["kid"] == api.project.signing_key.kid
    await api.signup()
    assert kid_of(await sign_in(api)) == current["kid"]
    record.age_next(minutes=9)
    with pytest.raises(Conflict, match="rotate in"):
        await services.base.signing_keys.rotate(api.project.id, at_once=False)
    record.age_next(minutes=1)
    rotated = await services.base.signing_keys.rotate(api.project.id, at_once=False)
    assert (rotated.current, rotated.previous) == (following["kid"], (current["kid"],))
    assert [key["kid"] for key in await published(api)] == [rotated.current, rotated.next, *rotated.previous]


async def test_tokens_of_the_key_before_live_out(api: Api, services: Services, record: Record) -> None:
    await api.signup()
    old = await sign_in(api)
    rotated = await rotate(api, services, record)
    new = await sign_in(api)
    assert (kid_of(old), kid_of(new)) == (rotated.previous[0], rotated.current)
    assert [await status(api, token) for token in (old, new)] == [200, 200]
    keys = {key["kid"]: pyjwt.PyJWK(key) for key in await published(api)}
    for token in (old, new):
        claims = pyjwt.decode(
            token, keys[kid_of(token)], algorithms=["ES256"], audience=api.project.id, issuer=BASE_URL
        )
        assert claims["aud"] == api.project.id
    record.set({"previous_signing_keys.0.until": now() - timedelta(seconds=1)})
    services.base.projects.forget_all()
    assert [await status(api, token) for token in (old, new)] == [401, 200]
    assert len(await published(api)) == 2


async def test_of_two_rotations_at_once_one_is_refused(api: Api, services: Services, record: Record) -> None:
    with pytest.raises(Conflict):
        await services.base.signing_keys.rotate(api.project.id, at_once=False)
    record.age_next(minutes=10)
    outcomes = await asyncio.gather(
        *(services.base.signing_keys.rotate(api.project.id, at_once=False) for _ in range(2)), return_exceptions=True
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Conflict", "Rotated"]
    assert len(await published(api)) == 3


async def test_earlier_keys_are_few(api: Api, services: Services, record: Record) -> None:
    first = await rotate(api, services, record)
    assert (await services.base.projects.by_id(api.project.id)).signing_key.kid == first.current
    sealed = {"sealed": "x", "until": now() + timedelta(days=1)}
    record.age_next(minutes=10)
    record.set({"previous_signing_keys": [sealed] * MAX_SIGNING_KEYS})
    with pytest.raises(Conflict, match="The tokens of 20 earlier keys still live; rotate after"):
        await services.base.signing_keys.rotate(api.project.id, at_once=False)


async def test_the_keys_of_no_project(services: Services) -> None:
    with pytest.raises(ProjectNotFound):
        await services.base.signing_keys.rotate("nobody", at_once=True)


@pytest.fixture
async def other_app(settings: Settings) -> AsyncIterator[Application]:
    """Another worker, which remembers for itself."""
    app = create_app(settings, PATIENT)
    async with app.router.lifespan_context(app):
        yield app


async def test_s10_no_token_is_refused_while_keys_are_rotated_at_once(
    api: Api, services: Services, other_app: Application
) -> None:
    """Each worker signs users in all the time, and takes the tokens of the other one at once."""
    await api.signup()
    is_over = False
    kids, refused = set[str](), list[str]()

    async def use(own: httpx2.AsyncClient, other: httpx2.AsyncClient) -> None:
        body = {"email": "ann@example.com", "password": "correct horse"}
        while not is_over:
            answer = await own.post("/auth-collections/login", json=body, headers={"x-api-key": api.key})
            token = answer.json()["access_token"]
            kids.add(kid_of(token))
            for client in (other, own):
                profile = await client.get(USER, headers={"authorization": f"Bearer {token}"})
                refused.extend([profile.text] if profile.status_code != 200 else [])
            await asyncio.sleep(0.05)

    transport = httpx2.ASGITransport(app=other_app)
    async with httpx2.AsyncClient(transport=transport, base_url=BASE_URL) as elsewhere:
        # Both remember the project as it is before, so without the next key.
        for app_services in (services, other_app.services):
            assert not (await app_services.base.projects.by_id(api.project.id)).other_keys
        users = [asyncio.create_task(use(*pair)) for pair in ((api.http, elsewhere), (elsewhere, api.http))]
        rotated = await services.base.signing_keys.rotate(api.project.id, at_once=True)
        async with waiting_for("both workers to sign with the new key"):
            # Until both sign with the new key: the worker that did not rotate learns of it within five seconds.
            other = await other_app.services.base.projects.by_id(api.project.id)
            while other.signing_key.kid != rotated.current:
                await asyncio.sleep(0.1)
                other = await other_app.services.base.projects.by_id(api.project.id)
        is_over = True
        await asyncio.gather(*users)
    assert refused == []
    assert kids == {rotated.current, *rotated.previous}
    assert timedelta(seconds=6) == KNOWN_EVERYWHERE
