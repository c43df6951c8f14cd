"""Users with hashes of other programs sign in, and refused logins of their project tell nothing by their time."""

import base64
import hashlib

import pytest

from service.domain.accounts import users
from service.services import Services
from tests.conftest import Api

SCRYPT = "$scrypt$ln=4,r=8,p=1$c2FsdHNhbHQ$%s"


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that each refused login waits."""
    found: list[float] = []

    async def sleep(seconds: float) -> None:
        found.append(seconds)

    monkeypatch.setattr(users, "sleep", sleep)
    return found


async def make(api: Api, stored: str) -> None:
    answer = await api.request(
        "POST", "/auth-collections/users", json={"email": "ann@example.com", "password_hash": stored}
    )
    assert answer.status_code == 201, answer.text


def scrypt_of(password: str) -> str:
    digest = hashlib.scrypt(password.encode(), salt=b"saltsalt", n=16, r=8, p=1, dklen=32)
    return SCRYPT % base64.b64encode(digest).decode().rstrip("=")


async def test_g15_refused_logins_end_at_one_time_while_a_foreign_hash_is_left(
    api: Api, services: Services, waits: list[float]
) -> None:
    await api.signup("bob@example.com")
    assert (await api.login("bob@example.com", "wrong horse")).status_code == 401
    assert waits == []
    await make(api, scrypt_of("correct horse"))
    # A worker notices within five seconds.
    services.base.projects.forget_all()
    stored = api.database["users"].find_one({"email": "ann@example.com"})
    assert stored is not None
    assert stored["password"].startswith("$scrypt$")
    statuses = [(await api.login(f"{name}@example.com", "wrong horse")).status_code for name in ("ann", "bob", "eve")]
    assert statuses == [401, 401, 404]
    assert len(waits) == 3
    assert all(0 < seconds <= 1 for seconds in waits)
    # The right password makes bcrypt's of it, and the wait ends with the last foreign hash.
    assert (await api.login()).status_code == 200
    assert api.database["users"].find_one({"email": "ann@example.com"})["password"].startswith("$2b$04$")  # type: ignore[index]
    services.base.projects.forget_all()
    assert (await api.login(password="wrong horse")).status_code == 401
    assert len(waits) == 3
