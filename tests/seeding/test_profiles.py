"""A seed declares the schema of profiles, and judges its users by it."""

import pytest

from service.errors import ConfigurationError
from tests.conftest import Api
from tests.seeding.test_seed import Run, counts, run

__all__ = ["run"]

PROFILE = """
profile:
  schema:
    plan: {{type: string, enum: [free, pro], default: {default}}}
    born: {{type: datetime}}
    friend_id: {{type: reference, collection: users}}
"""
USERS = """
users:
  - rows:
      - {email: ann@example.com, password_hash: "", born: "2026-01-31", friend_id: cat@example.com}
      - {email: bob@example.com, password_hash: "", plan: gold}
      - {email: cat@example.com, password_hash: ""}
    references: {friend_id: users}
""".replace('""', '"$2b$04$abcdefghijklmnopqrstuuIh9D3PZrMDPvpGYyzWcqRQXFX1BfjzG"')


def text(api: Api, users: str = "", default: str = "free") -> str:
    return f"project: {{id: '{api.project.id}', name: P}}{PROFILE.format(default=default)}{users}"


async def test_k25_users_of_a_seed_fit_the_profile_that_it_declares(api: Api, run: Run) -> None:
    """A second run changes nothing, and a user may refer to one who comes later."""
    dry = await run(text(api, USERS), dry_run=True)
    assert (counts(dry)["profile"], counts(dry)["users"]) == ({"created": 1}, {"created": 2, "refused": 1})
    assert api.database["users"].count_documents({}) == 0
    report = await run(text(api, USERS))
    assert counts(report)["users"] == {"created": 2, "refused": 1}
    assert report.refusals["users"] == ['! users[0].rows[1]: plan: Must be one of "free", "pro"']
    users = {each["email"]: each for each in api.database["users"].find()}
    assert users["ann@example.com"]["data"] == {
        "born": "2026-01-31T00:00:00.000Z",
        "friend_id": users["cat@example.com"]["_id"],
        "plan": "free",
    }
    again = await run(text(api, USERS))
    assert (counts(again)["profile"], counts(again)["users"]) == ({"unchanged": 1}, {"unchanged": 2, "refused": 1})


async def test_a_seed_changes_a_profile_only_where_it_may_migrate(api: Api, run: Run) -> None:
    await run(text(api))
    with pytest.raises(ConfigurationError, match="profile: differs from the one in force"):
        await run(text(api, default="pro"))
    assert counts(await run(text(api, default="pro"), migrate=True))["profile"] == {"updated": 1}
    with pytest.raises(ConfigurationError, match=r"profile: schema\.plan\.default: Must be one of"):
        await run(text(api, default="gold"), migrate=True)
    (record,) = api.database["profile"].find()
    assert record["schema"]["plan"]["default"] == "pro"
