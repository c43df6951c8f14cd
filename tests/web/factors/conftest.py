"""A project whose user has an authenticator app."""

import pytest

from tests.conftest import Api
from tests.web.factors.apps import CLOCK, Member, make_member


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("service.domain.accounts.factor_proofs", "service.domain.accounts.enrolment"):
        monkeypatch.setattr(f"{name}.time", CLOCK)


@pytest.fixture
async def member(api: Api) -> Member:
    return await make_member(api)
