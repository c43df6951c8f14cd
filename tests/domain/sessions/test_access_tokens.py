"""The verified tokens that a worker remembers, by a clock that the test sets."""

from dataclasses import dataclass

import pytest

from service.domain import cache
from service.domain.projects.admin import ProjectAdmin
from service.domain.projects.lookup import CACHE_SECONDS, Projects
from service.services import Services
from tests.conftest import Api

USER = "/auth-collections/user"


@dataclass
class Clock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(cache, "monotonic", clock)
    return clock


async def limit_of(api: Api, token: str) -> str:
    """The auth limit under which a request with `token` is counted."""
    answer = await api.as_user(token, "GET", USER)
    assert answer.status_code == 200
    return answer.headers.get("ratelimit-policy", "none")


async def test_n6_a_changed_setting_reaches_every_token_in_five_seconds(
    api: Api, admin: ProjectAdmin, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The worker that changes a setting forgets the project at once; another worker does not hear of the change.
    monkeypatch.setattr(Projects, "forget_all", lambda _: None)
    tokens = [(await api.signup(f"{name}@example.com")).json()["access_token"] for name in "ab"]
    assert await limit_of(api, tokens[0]) == "none"
    await admin.change(api.project.id, {"AUTH_LIMIT": "77"})
    clock.now += CACHE_SECONDS - 0.1
    # This token is met for the first time, by what is still remembered of the project.
    assert await limit_of(api, tokens[1]) == "none"
    clock.now += 0.2
    assert [await limit_of(api, token) for token in tokens] == ['"auth";q=77;w=3600'] * 2


async def test_n6_a_token_is_not_verified_again_while_its_project_is_the_same(
    api: Api, services: Services, clock: Clock
) -> None:
    token = (await api.signup()).json()["access_token"]
    await limit_of(api, token)
    caller = services.sessions.tokens.verified.get(token)
    assert caller is not None
    clock.now += CACHE_SECONDS - 0.1
    await limit_of(api, token)
    assert services.sessions.tokens.verified.get(token) is caller
