"""The examples of docs/access.md 1 to 6, played through by the people they are about."""

from faults.rule_examples import BLOCK, PAGE, SECTION
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


def test_the_page_has_twelve_examples_of_two_blocks() -> None:
    page = PAGE.read_text()
    assert [found[1] for found in SECTION.finditer(page)] == [str(number) for number in range(1, 13)]
    assert [len(BLOCK.findall(found[0])) for found in SECTION.finditer(page)] == [2] * 12


async def test_example_1_notes_of_ones_own(api: Api) -> None:
    stage = await set_up(api, 1)
    ann, ben = await stage.person("ann"), await stage.person("ben")
    made = await ann.create("notes", text="mine")
    note = id_of(made)
    assert made.json()["data"] == {"text": "mine", "owner_id": ann.id}
    assert misplaced(await ben.create("notes", text="forged", owner_id=ann.id)) == [["body", "data", "owner_id"]]
    assert outcome(await stage.guest.create("notes", text="nobody's")) == UNAUTHORIZED

    assert texts(await ann.list("notes"), "text") == ["mine"]
    assert texts(await ben.list("notes"), "text") == []
    assert outcome(await stage.guest.list("notes")) == UNAUTHORIZED
    assert (await ann.get("notes", note)).json() == made.json()
    assert outcome(await ben.get("notes", note)) == GONE

    assert (await ann.merge("notes", note, text="still mine")).json()["data"]["text"] == "still mine"
    assert misplaced(await ann.merge("notes", note, owner_id=ben.id)) == [["body", "data", "owner_id"]]
    assert (await ann.replace("notes", note, text="whole")).json()["data"] == {"text": "whole", "owner_id": ann.id}
    assert outcome(await ben.merge("notes", note, text="his")) == GONE
    assert outcome(await ben.replace("notes", note, text="his")) == GONE
    assert outcome(await stage.guest.merge("notes", note, text="nobody's")) == UNAUTHORIZED

    assert outcome(await ben.delete("notes", note)) == GONE
    assert outcome(await stage.guest.delete("notes", note)) == UNAUTHORIZED
    assert (await ann.delete("notes", note)).status_code == 204
    assert texts(await stage.server.list("notes")) == []


async def test_example_2_published_posts_and_drafts(api: Api) -> None:
    stage = await set_up(api, 2)
    ann, ben, editor = await stage.person("ann"), await stage.person("ben"), await stage.person("eve", "editor")
    draft = id_of(await ann.create("posts", title="draft"))
    news = id_of(await ann.create("posts", title="news", status="published"))
    assert outcome(await stage.guest.create("posts", title="spam")) == UNAUTHORIZED

    assert texts(await stage.guest.list("posts")) == ["news"]
    assert texts(await ben.list("posts")) == ["news"]
    assert texts(await ann.list("posts")) == ["draft", "news"]
    assert texts(await editor.list("posts")) == ["draft", "news"]
    assert (await stage.guest.get("posts", news)).status_code == 200
    assert outcome(await stage.guest.get("posts", draft)) == GONE
    assert (await editor.get("posts", draft)).status_code == 200

    assert outcome(await ben.merge("posts", news, title="his")) == FORBIDDEN
    assert outcome(await ben.merge("posts", draft, title="his")) == GONE
    assert outcome(await editor.merge("posts", draft, title="hers")) == FORBIDDEN
    assert outcome(await stage.guest.merge("posts", news, title="nobody's")) == UNAUTHORIZED
    assert (await ann.merge("posts", draft, status="published")).status_code == 200
    assert texts(await stage.guest.list("posts")) == ["draft", "news"]

    assert outcome(await ben.delete("posts", news)) == FORBIDDEN
    assert outcome(await stage.guest.delete("posts", news)) == UNAUTHORIZED
    assert (await ann.delete("posts", news)).status_code == 204
    assert (await editor.delete("posts", draft)).status_code == 204


async def test_example_3_a_workflow(api: Api) -> None:
    stage = await set_up(api, 3)
    ann, ben, editor = await stage.person("ann"), await stage.person("ben"), await stage.person("eve", "editor")
    article = id_of(await ann.create("articles", title="Waterloo"))
    assert outcome(await ann.create("articles", title="at once", status="published")) == FORBIDDEN
    assert outcome(await stage.guest.create("articles", title="nobody's")) == UNAUTHORIZED

    assert texts(await ann.list("articles")) == ["Waterloo"]
    assert texts(await ben.list("articles")) == []
    assert texts(await editor.list("articles")) == ["Waterloo"]
    assert outcome(await stage.guest.list("articles")) == UNAUTHORIZED

    assert (await ann.merge("articles", article, title="Waterloo, 1815")).status_code == 200
    assert outcome(await ann.merge("articles", article, status="published")) == FORBIDDEN
    assert outcome(await ben.merge("articles", article, status="submitted")) == GONE
    assert (await ann.merge("articles", article, status="submitted")).status_code == 200
    assert outcome(await ann.merge("articles", article, title="too late")) == FORBIDDEN
    assert outcome(await ann.delete("articles", article)) == FORBIDDEN
    assert outcome(await editor.merge("articles", article, status="draft")) == FORBIDDEN
    assert (await editor.merge("articles", article, status="published")).json()["data"]["status"] == "published"
    assert outcome(await editor.delete("articles", article)) == FORBIDDEN

    other = id_of(await ann.create("articles", title="dropped"))
    assert outcome(await ben.delete("articles", other)) == GONE
    assert (await ann.delete("articles", other)).status_code == 204


async def test_example_4_comments(api: Api) -> None:
    stage = await set_up(api, 4)
    ann, ben = await stage.person("ann"), await stage.person("ben")
    news = id_of(await ann.create("posts", title="news", status="published"))
    draft = id_of(await ann.create("posts", title="draft"))
    comment = id_of(await ben.create("comments", text="Well said", post_id=news))
    hidden = id_of(await ann.create("comments", text="To do", post_id=draft))
    assert outcome(await ben.create("comments", text="Show me", post_id=draft)) == FORBIDDEN
    assert outcome(await ben.create("comments", text="Show me", post_id="0" * 24)) == FORBIDDEN
    assert outcome(await stage.guest.create("comments", text="Spam", post_id=news)) == UNAUTHORIZED

    assert texts(await stage.guest.list("comments"), "text") == ["Well said"]
    assert texts(await ben.list("comments"), "text") == ["Well said"]
    assert texts(await ann.list("comments"), "text") == ["Well said", "To do"]
    assert outcome(await ben.get("comments", hidden)) == GONE
    assert (await stage.guest.get("comments", comment)).status_code == 200

    assert (await ben.merge("comments", comment, text="Well put")).status_code == 200
    assert misplaced(await ben.merge("comments", comment, post_id=draft)) == [["body", "data", "post_id"]]
    assert outcome(await ann.merge("comments", comment, text="hers")) == FORBIDDEN
    assert outcome(await ben.merge("comments", hidden, text="his")) == GONE
    assert outcome(await ann.delete("comments", comment)) == FORBIDDEN
    assert outcome(await stage.guest.delete("comments", comment)) == UNAUTHORIZED
    assert (await ben.delete("comments", comment)).status_code == 204


async def test_example_5_tasks_of_a_team(api: Api) -> None:
    stage = await set_up(api, 5)
    ann, ben, cid = await stage.person("ann"), await stage.person("ben"), await stage.person("cid")
    reds, blues = await stage.stored("teams", name="Reds"), await stage.stored("teams", name="Blues")
    for member, team in ((ann, reds), (ben, reds), (ben, blues)):
        await stage.stored("memberships", user_id=member.id, team_id=team)
    task = id_of(await ann.create("tasks", title="paint", team_id=reds))
    assert outcome(await ann.create("tasks", title="paint", team_id=blues)) == FORBIDDEN
    assert outcome(await cid.create("tasks", title="paint", team_id=reds)) == FORBIDDEN
    assert outcome(await stage.guest.create("tasks", title="paint", team_id=reds)) == UNAUTHORIZED

    assert texts(await ben.list("tasks")) == ["paint"]
    assert texts(await cid.list("tasks")) == []
    assert texts(await cid.list("teams"), "name") == []
    assert texts(await ann.list("teams"), "name") == ["Reds"]
    assert outcome(await stage.guest.list("tasks")) == UNAUTHORIZED
    assert outcome(await ann.list("memberships")) == (404, "collection_not_found")
    found = (await ben.list("tasks", "?populate=team")).json()["documents"]
    assert found[0]["data"]["team"]["data"] == {"name": "Reds"}

    assert misplaced(await ann.merge("tasks", task, team_id=blues)) == [["body", "data", "team_id"]]
    assert outcome(await cid.merge("tasks", task, done=True)) == GONE
    assert outcome(await ben.delete("tasks", task)) == FORBIDDEN
    assert (await ben.merge("tasks", task, done=True)).status_code == 200
    assert outcome(await cid.delete("tasks", task)) == GONE
    assert (await ann.delete("tasks", task)).status_code == 204
    moved = id_of(await ben.create("tasks", title="sweep", team_id=reds))
    assert (await ben.merge("tasks", moved, team_id=blues)).json()["data"]["team_id"] == blues
    assert outcome(await ann.get("tasks", moved)) == GONE


async def test_example_6_memberships(api: Api) -> None:
    stage = await set_up(api, 6)
    admin, ben, cid, dan = [await stage.person(name) for name in ("ann", "ben", "cid", "dan")]
    team = await stage.stored("teams", name="Reds")
    await stage.stored("memberships", user_id=admin.id, team_id=team, role="admin")
    bens = id_of(await admin.create("memberships", user_id=ben.id, team_id=team, role="member"))
    cids = id_of(await admin.create("memberships", user_id=cid.id, team_id=team, role="guest"))
    assert outcome(await admin.create("memberships", user_id=dan.id, team_id=team, role="admin")) == FORBIDDEN
    assert outcome(await ben.create("memberships", user_id=dan.id, team_id=team, role="member")) == FORBIDDEN
    assert outcome(await dan.create("memberships", user_id=dan.id, team_id=team, role="member")) == FORBIDDEN

    assert texts(await ben.list("memberships"), "role") == ["admin", "member", "guest"]
    assert texts(await dan.list("memberships")) == []
    assert outcome(await dan.get("memberships", bens)) == GONE
    assert outcome(await stage.guest.list("memberships")) == UNAUTHORIZED
    assert outcome(await ben.merge("memberships", bens, role="admin")) == FORBIDDEN

    assert outcome(await ben.delete("memberships", cids)) == FORBIDDEN
    assert outcome(await dan.delete("memberships", cids)) == GONE
    assert (await admin.delete("memberships", cids)).status_code == 204
    assert (await ben.delete("memberships", bens)).status_code == 204
