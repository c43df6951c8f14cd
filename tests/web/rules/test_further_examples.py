"""The examples of docs/access.md 7 to 12, played through by the people they are about."""

from datetime import UTC, datetime, timedelta

from tests.conftest import Api
from tests.web.rules.examples_page import (
    FORBIDDEN,
    GONE,
    UNAUTHORIZED,
    id_of,
    misplaced,
    outcome,
    set_up,
    texts,
)


async def test_example_7_messages_in_a_room(api: Api) -> None:
    stage = await set_up(api, 7)
    ann, ben, cid = await stage.person("ann"), await stage.person("ben"), await stage.person("cid")
    hall, cellar = await stage.stored("rooms", name="Hall"), await stage.stored("rooms", name="Cellar")
    for visitor, room in ((ann, hall), (ann, cellar), (ben, hall)):
        await stage.stored("visitors", user_id=visitor.id, room_id=room)
    message = id_of(await ann.create("messages", text="Helo", room_id=hall))
    assert outcome(await ben.create("messages", text="Hello?", room_id=cellar)) == FORBIDDEN
    assert outcome(await cid.create("messages", text="Hello?", room_id=hall)) == FORBIDDEN
    assert outcome(await stage.guest.create("messages", text="Spam", room_id=hall)) == UNAUTHORIZED

    assert texts(await ben.list("messages"), "text") == ["Helo"]
    assert texts(await cid.list("messages"), "text") == []
    assert outcome(await cid.get("messages", message)) == GONE
    assert outcome(await stage.guest.list("messages")) == UNAUTHORIZED

    assert (await ann.merge("messages", message, text="Hello")).json()["data"]["text"] == "Hello"
    assert misplaced(await ann.merge("messages", message, room_id=cellar)) == [["body", "data", "room_id"]]
    assert outcome(await ben.merge("messages", message, text="Goodbye")) == FORBIDDEN
    assert outcome(await cid.merge("messages", message, text="Goodbye")) == GONE
    earlier = datetime.now(UTC) - timedelta(minutes=16)
    api.database["c_messages"].update_one({"_id": message}, {"$set": {"created_at": earlier}})
    assert outcome(await ann.merge("messages", message, text="Too late")) == FORBIDDEN

    assert outcome(await ben.delete("messages", message)) == FORBIDDEN
    assert outcome(await cid.delete("messages", message)) == GONE
    assert (await ann.delete("messages", message)).status_code == 204


async def test_example_8_direct_messages(api: Api) -> None:
    stage = await set_up(api, 8)
    ann, ben, cid = await stage.person("ann"), await stage.person("ben"), await stage.person("cid")
    message = id_of(await ann.create("direct", text="Psst", participants=[ann.id, ben.id]))
    assert outcome(await cid.create("direct", text="Psst", participants=[ann.id, ben.id])) == FORBIDDEN
    assert outcome(await stage.guest.create("direct", text="Psst", participants=[ann.id])) == UNAUTHORIZED

    assert texts(await ben.list("direct"), "text") == ["Psst"]
    assert texts(await cid.list("direct"), "text") == []
    assert (await ben.get("direct", message)).status_code == 200
    assert outcome(await cid.get("direct", message)) == GONE
    assert outcome(await stage.guest.get("direct", message)) == UNAUTHORIZED

    assert outcome(await ann.merge("direct", message, participants=[ann.id, ben.id, cid.id])) == FORBIDDEN
    assert outcome(await ann.delete("direct", message)) == FORBIDDEN


async def test_example_9_listings_with_a_secret(api: Api) -> None:
    stage = await set_up(api, 9)
    ann, ben = await stage.person("ann"), await stage.person("ben")
    lamp = id_of(await ann.create("listings", title="lamp", reserve_price=40))
    desk = id_of(await ann.create("listings", title="desk", reserve_price=90, active=False))
    assert misplaced(await ann.create("listings", title="chair", rating=5)) == [["body", "data", "rating"]]
    assert outcome(await stage.guest.create("listings", title="spam")) == UNAUTHORIZED

    assert texts(await stage.guest.list("listings")) == ["lamp"]
    assert texts(await ann.list("listings")) == ["lamp", "desk"]
    assert texts(await ann.list("listings"), "reserve_price") == [40, 90]
    assert texts(await ben.list("listings"), "reserve_price") == [None]
    assert "reserve_price" not in (await stage.guest.get("listings", lamp)).json()["data"]
    assert outcome(await ben.get("listings", desk)) == GONE

    assert texts(await ann.list("listings", "?reserve_price_gte=50")) == ["desk"]
    assert texts(await ben.list("listings", "?reserve_price_gte=1")) == []
    assert texts(await ben.list("listings", "?reserve_price_ne=1")) == []
    unknown = (await ben.list("listings", "?sort_by=reserve_pric")).json()["detail"][0]
    hidden = (await ben.list("listings", "?sort_by=reserve_price")).json()["detail"][0]
    assert hidden["type"] == unknown["type"]
    assert hidden["loc"] == unknown["loc"]

    assert (await ann.merge("listings", lamp, reserve_price=45)).json()["data"]["reserve_price"] == 45
    assert misplaced(await ann.merge("listings", lamp, rating=5)) == [["body", "data", "rating"]]
    assert outcome(await ben.merge("listings", lamp, title="his")) == FORBIDDEN
    assert outcome(await ben.merge("listings", desk, title="his")) == GONE
    assert (await stage.server.merge("listings", lamp, rating=5)).status_code == 200
    kept = (await ann.replace("listings", lamp, title="tall lamp")).json()["data"]
    assert kept == {"title": "tall lamp", "active": True, "seller_id": ann.id, "rating": 5}

    assert outcome(await ben.delete("listings", lamp)) == FORBIDDEN
    assert outcome(await stage.guest.delete("listings", lamp)) == UNAUTHORIZED
    assert (await ann.delete("listings", lamp)).status_code == 204


async def test_example_10_orders(api: Api) -> None:
    stage = await set_up(api, 10)
    buyer, seller, cid = await stage.person("ann"), await stage.person("ben"), await stage.person("cid")
    order = id_of(await buyer.create("orders", seller_id=seller.id))
    assert misplaced(await buyer.create("orders", seller_id=seller.id, total=1)) == [["body", "data", "total"]]
    assert outcome(await buyer.create("orders", seller_id=seller.id, status="paid")) == FORBIDDEN
    assert misplaced(await buyer.create("orders", seller_id="0" * 24)) == [["body", "data", "seller_id"]]
    assert outcome(await stage.guest.create("orders", seller_id=seller.id)) == UNAUTHORIZED

    assert texts(await buyer.list("orders"), "status") == ["open"]
    assert texts(await seller.list("orders"), "status") == ["open"]
    assert texts(await cid.list("orders")) == []
    assert outcome(await cid.get("orders", order)) == GONE
    assert outcome(await stage.guest.list("orders")) == UNAUTHORIZED

    assert outcome(await buyer.merge("orders", order, status="paid")) == FORBIDDEN
    assert outcome(await seller.merge("orders", order, status="shipped")) == FORBIDDEN
    assert outcome(await cid.merge("orders", order, status="cancelled")) == GONE
    assert (await stage.server.merge("orders", order, status="paid", total=120)).status_code == 200
    assert outcome(await buyer.merge("orders", order, status="cancelled")) == FORBIDDEN
    assert misplaced(await seller.merge("orders", order, status="shipped", total=1)) == [["body", "data", "total"]]
    assert (await seller.merge("orders", order, status="shipped", total=120)).json()["data"] == {
        "buyer_id": buyer.id,
        "seller_id": seller.id,
        "status": "shipped",
        "total": 120,
    }
    other = id_of(await buyer.create("orders", seller_id=seller.id))
    assert (await buyer.merge("orders", other, status="cancelled")).status_code == 200
    assert outcome(await buyer.delete("orders", other)) == FORBIDDEN


async def test_example_11_reports_and_blocked_authors(api: Api) -> None:
    stage = await set_up(api, 11)
    ann, ben, mod = await stage.person("ann"), await stage.person("ben"), await stage.person("mia", "moderator")
    await ben.create("blocks", blocked_id=ann.id)
    post = id_of(await ann.create("posts", title="buy this"))
    assert texts(await mod.list("posts")) == ["buy this"]
    assert texts(await ben.list("posts")) == []
    assert outcome(await ben.get("posts", post)) == GONE
    assert outcome(await stage.guest.list("posts")) == UNAUTHORIZED
    assert texts(await ann.list("blocks")) == []

    reported = await ann.create("reports", text="my own", post_id=post)
    assert reported.status_code == 201
    assert reported.json() == {"id": reported.json()["id"]}
    assert misplaced(await ben.create("reports", text="unseen", post_id=post)) == [["body", "data", "post_id"]]
    assert outcome(await stage.guest.create("reports", text="spam", post_id=post)) == UNAUTHORIZED
    assert outcome(await ann.list("reports")) == FORBIDDEN
    assert outcome(await ann.get("reports", id_of(reported))) == FORBIDDEN
    assert texts(await mod.list("reports"), "text") == ["my own"]

    assert outcome(await ann.delete("posts", post)) == FORBIDDEN
    assert outcome(await ben.delete("posts", post)) == FORBIDDEN
    await stage.give_roles(mod.id)
    assert outcome(await mod.delete("posts", post)) == FORBIDDEN
    await stage.give_roles(mod.id, "moderator")
    assert (await mod.delete("posts", post)).status_code == 204


async def test_example_12_users_and_moderators(api: Api) -> None:
    stage = await set_up(api, 12)
    ann, ben, admin = (
        await stage.person("ann", hobby="chess"),
        await stage.person("ben"),
        await stage.person("eve", "admin"),
    )
    users = (await ben.ask("GET", "/auth-collections/users?sort_by=name")).json()["users"]
    assert [user["data"] for user in users] == [{"name": "ann"}, {"name": "ben"}, {"name": "eve"}]
    assert [user.get("email") for user in users] == [None, "ben@example.com", None]
    assert outcome(await stage.guest.ask("GET", "/auth-collections/users")) == UNAUTHORIZED
    assert outcome(await stage.guest.ask("GET", f"/auth-collections/users/{ann.id}")) == UNAUTHORIZED
    own = (await ann.ask("GET", f"/auth-collections/users/{ann.id}")).json()
    assert own["email"] == "ann@example.com"
    assert own["data"] == {"name": "ann", "hobby": "chess"}
    found = await ben.ask("GET", "/auth-collections/users?email_eq=ann@example.com")
    assert found.json()["users"] == []

    await stage.stored("templates", title="plain", plan="free")
    await stage.stored("templates", title="fancy", plan="pro")
    forged = {"email": "dan@example.com", "password": "correct horse", "plan": "pro"}
    assert (await ann.ask("PUT", "/auth-collections/user", json={"plan": "pro"})).status_code == 422
    assert (await stage.guest.ask("POST", "/auth-collections/signup", json=forged)).status_code == 422
    assert texts(await ann.list("templates")) == ["plain"]
    assert texts(await stage.guest.list("templates")) == ["plain"]
    paying = await stage.server.ask("POST", "/auth-collections/signup", json=forged)
    token = {"authorization": f"Bearer {paying.json()['access_token']}"}
    shown = await api.http.get("/api/collections/templates/documents", headers=token)
    assert texts(shown) == ["plain", "fancy"]

    roles = f"/auth-collections/users/{ann.id}/roles"
    assert outcome(await ben.ask("PUT", roles, json={"roles": ["moderator"]})) == FORBIDDEN
    assert outcome(await admin.ask("PUT", roles, json={"roles": ["admin"]})) == FORBIDDEN
    own_roles = f"/auth-collections/users/{admin.id}/roles"
    assert outcome(await admin.ask("PUT", own_roles, json={"roles": ["moderator"]})) == FORBIDDEN
    given = await admin.ask("PUT", roles, json={"roles": ["moderator"]})
    assert given.json() == {"id": ann.id, "roles": ["moderator"]}
