"""Documents for users and guests, as far as the project's rules allow."""

from tests.conftest import Api
from tests.rules.examples import RULES
from tests.web.rules.conftest import declare, guest_of, save, server_of, sign_up

GONE = "/api/collections/notes/documents/" + "0" * 24


async def test_a_user_keeps_notes_that_nobody_else_sees(api: Api) -> None:
    await declare(api, "notes", "posts")
    await save(api, {"collections": {"notes": RULES["collections"]["notes"]}})
    ann, bob, guest = await sign_up(api, "ann"), await sign_up(api, "bob"), guest_of(api)
    made = await ann.create("notes", text="mine")
    assert made.status_code == 201, made.text
    note = made.json()["id"]
    assert made.json()["data"] == {"text": "mine", "owner_id": ann.id}
    assert (await ann.list("notes")).json()["total"] == 1
    assert (await bob.list("notes")).json() == {
        "documents": [],
        "total": 0,
        "limit": 50,
        "offset": 0,
    }
    for refused in (
        await bob.get("notes", note),
        await bob.merge("notes", note, text="his"),
        await bob.replace("notes", note, text="his"),
        await bob.delete("notes", note),
    ):
        assert (refused.status_code, refused.json()["code"]) == (404, "document_not_found")
    assert (await ann.merge("notes", note, text="changed")).json()["data"] == {"text": "changed", "owner_id": ann.id}
    replaced = await ann.replace("notes", note, text="new")
    assert replaced.json()["data"] == {"text": "new", "owner_id": ann.id}
    given_away = await ann.merge("notes", note, owner_id=bob.id)
    assert (given_away.status_code, given_away.json()["detail"][0]["loc"]) == (422, ["body", "data", "owner_id"])
    assert (await ann.merge("notes", note, owner_id=ann.id, text="same")).status_code == 200
    for refused in (await guest.create("notes", text="x"), await guest.list("notes"), await guest.get("notes", note)):
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")
    assert (await guest.list("posts")).json()["code"] == "collection_not_found"
    assert (await server_of(api).list("notes")).json()["documents"][0]["data"]["text"] == "same"
    assert (await ann.delete("notes", note)).status_code == 204
    assert (await server_of(api).list("notes")).json()["documents"] == []
