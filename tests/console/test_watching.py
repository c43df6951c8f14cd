"""The pages of logs, audit and system in Chromium: filters in the address, an entry beside its list, and hostile texts."""

from typing import Any

from playwright.sync_api import expect

from tests.console.conftest import BLANK, PROJECT, Console, find_faults, find_misfits, needs_console

HOSTILE = "<b onclick=alert(1)>\u202e{{7*7}}</b>"
REQUEST: dict[str, Any] = {
    "id": "66f0c1a2b3c4d5e6f7a8b9c1",
    "at": "2026-11-23T13:05:48.000Z",
    "method": "PATCH",
    "route": "/api/collections/{name}/documents/{id}",
    "status": 403,
    "ms": 1204.4,
    "bytes": 118,
    "key_id": "k1",
    "user_id": "66f0c1a2b3c4d5e6f7a8b9c2",
    "operator_id": None,
    "code": "forbidden",
    "rule": "collections.notes.update",
    "request_id": "0b1c2d3e4f5a6b7c",
}
ENTRY: dict[str, Any] = {
    "id": "66f0c1a2b3c4d5e6f7a8b9c3",
    "at": "2026-11-23T13:05:48.000Z",
    "actor": {"kind": "operator", "id": "66f0c1a2b3c4d5e6f7a8b9c4", "name": HOSTILE},
    "project_id": PROJECT,
    "action": "rules.changed",
    "target": {"type": "project", "id": PROJECT, "name": HOSTILE},
    "status": 200,
    "changes": [{"path": ["collections", HOSTILE, "read"], "before": None, "after": {"or": [HOSTILE]}}],
    "omitted": 3,
    "request_id": "0b1c2d3e4f5a6b7c",
    "ip": "192.0.2.1",
    "user_agent": HOSTILE,
    "reason": HOSTILE,
}

pytestmark = needs_console


def test_requests_are_filtered_by_the_address(console: Console) -> None:
    page = console.open(BLANK)
    # A live stream would show the requests of other tests.
    page.route("**/live?*", lambda route: route.fulfill(status=204))
    page.goto(f"{console.url}#/projects/{PROJECT}/logs?status=5xx")
    expect(page.get_by_text("Nothing matches")).to_be_visible()
    asked = list[str]()
    answer = {"requests": [REQUEST], "skipped": 7, "oldest": REQUEST["at"], "next": REQUEST["id"]}

    def reply(route: Any) -> None:
        asked.append(route.request.url.partition("?")[2])
        older = {**answer, "requests": [{**REQUEST, "id": "older", "status": 200, "rule": None}], "next": None}
        route.fulfill(json=older if "cursor" in asked[-1] else answer)

    page.route("**/requests?*", reply)
    page.get_by_role("button", name="Clear the filters").click()
    expect(page.get_by_text("7 more of the deployment")).to_be_visible()
    page.get_by_role("button", name="Show more").click()
    expect(page.get_by_role("row")).to_have_count(3)
    page.get_by_role("button", name="Filter", exact=True).click()
    page.get_by_role("combobox", name="Requests by").select_option("code")
    page.get_by_role("textbox", name="Value").fill("forbidden")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove the filter Code")).to_be_visible()
    page.get_by_role("radio", name="Slow").check(force=True)
    with page.expect_request("**/requests?*since=20*"):
        page.get_by_role("combobox", name="Time").select_option("hour")
    expect(page.get_by_role("row")).to_have_count(2)
    assert "code=forbidden" in page.url
    assert "min_ms=1000" in asked[-1]
    page.get_by_role("table").get_by_role("link").first.focus()
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="Request")
    expect(panel).to_contain_text("collections.notes.update")
    expect(panel).to_contain_text("1,204.4 ms, 118 bytes")
    assert find_misfits(page) == []
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    page.get_by_role("button", name="Remove the filter Code").click()
    expect(page.get_by_role("button", name="Remove the filter Code")).to_have_count(0)


def test_the_day_stands_over_the_log_and_the_deployment_has_a_page(console: Console) -> None:
    """A histogram of hours above the requests; the same steps of all projects, with the busiest of them."""
    step = {"at": "2026-11-23T13:00:00Z", "requests": 40, "errors_4xx": 3, "errors_5xx": 1, "bytes": 4_000}
    steps = [
        step | {"p50_ms": 2, "p95_ms": 20},
        step | {"at": "2026-11-23T14:00:00Z", "requests": 0, "errors_4xx": 0, "p50_ms": None, "p95_ms": None},
    ]
    sums = {"id": PROJECT, "requests": 40, "errors_4xx": 3, "errors_5xx": 1, "bytes": 4_000}
    page = console.open("#/me")
    page.get_by_role("heading", name="My account").wait_for()
    page.route("**/admin/v1/**/usage*", lambda route: route.fulfill(json={"steps": steps, "sizes": None, "limits": []}))
    page.route("**/admin/v1/usage*", lambda route: route.fulfill(json={"steps": steps, "projects": [sums]}))
    page.goto(f"{console.url}#/projects/{PROJECT}/logs")
    expect(page.get_by_role("img", name="most errors, 4, from")).to_be_visible()
    assert find_faults(page) == []
    page.goto(f"{console.url}#/usage")
    listed = page.get_by_role("region", name="List of projects")
    expect(listed.get_by_role("cell", name="40")).to_be_visible()
    assert find_misfits(page) == []
    listed.get_by_role("link", name=PROJECT).click()
    expect(page.get_by_role("heading", name="Limits of the day")).to_be_visible()
    page.unroute_all()


def test_a_request_is_shown_as_it_comes(console: Console) -> None:
    page = console.open(f"#/projects/{PROJECT}/logs?code=setting_unheard_of")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    expect(page.get_by_text("Nothing matches")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()
    ask = f"fetch('../admin/v1/projects/{PROJECT}/api/collections/nowhere').then(answer => answer.status)"
    assert page.evaluate(ask) == 404
    expect(page.get_by_role("row", name="collection_not_found").first).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("live", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Follow").click()
    expect(page.get_by_text("live", exact=True)).to_be_visible()


def test_the_usage_of_a_project_has_its_steps_limits_and_rates(console: Console) -> None:
    page = console.open(f"#/projects/{PROJECT}/usage")
    expect(page.get_by_text("requests a second")).to_be_visible()
    expect(page.get_by_role("region", name="Requests").get_by_role("img")).to_be_visible()
    at = "2026-11-23T13:00:00.000Z"
    step = {"at": at, "requests": 12, "errors_4xx": 2, "errors_5xx": 1, "bytes": 9_400_320, "p50_ms": 5, "p95_ms": 20}
    sizes = {"users": 77, "documents": 8_845, "files": 12, "storage_bytes": 9_400_320, "as_of": at}
    limit = {"name": "daily", "limit": 1_000, "remaining": 20, "reset": 43_200}
    asked = list[str]()

    def reply(route: Any) -> None:
        asked.append(route.request.url.partition("?")[2])
        quiet = {
            **step,
            "requests": 0,
            "errors_4xx": 0,
            "errors_5xx": 0,
            "p50_ms": None,
            "p95_ms": None,
            "at": "2026-11-23T14:00:00.000Z",
        }
        route.fulfill(json={"steps": [step, quiet], "sizes": sizes, "limits": [limit]})

    page.route("**/usage?*", reply)
    page.get_by_text("30 days").click()
    expect(page.get_by_text("980 of 1,000")).to_be_visible()
    expect(page.get_by_text("25 % of them")).to_be_visible()
    assert asked == ["step=day"]
    expect(page.get_by_role("region", name="Table of steps").get_by_role("row")).to_have_count(2)
    assert find_misfits(page) == []


def test_an_entry_is_shown_with_its_difference(console: Console) -> None:
    page = console.open("#/audit?action=operator.joined")
    page.get_by_role("row", name="Olga").first.get_by_role("link").click()
    panel = page.get_by_role("complementary", name="Entry")
    expect(panel).to_contain_text("operator.joined")
    page.route("**/audit?*", lambda route: route.fulfill(json={"entries": [ENTRY], "next": None}))
    page.goto(f"{console.url}#/projects/{PROJECT}/audit?entry={ENTRY['id']}")
    expect(panel.get_by_role("group")).to_contain_text(HOSTILE)
    expect(panel).to_contain_text("3 more are not kept")
    assert page.locator("b[onclick]").count() == 0
    assert find_misfits(page) == []
    panel.get_by_role("link", name="only about it").click()
    expect(page.get_by_role("button", name="Remove the filter About")).to_be_visible()
    expect(panel).to_have_count(0)
    page.unroute("**/audit?*")
    page.goto(f"{console.url}#/projects/{PROJECT}/audit?action=mailbox.read&actor=none")
    expect(page.get_by_text("Nothing matches")).to_be_visible()


def test_the_state_of_the_deployment_says_what_to_mend(console: Console) -> None:
    page = console.open("#/system")
    expect(page.get_by_role("region", name="List of jobs")).to_be_visible()
    expect(page.get_by_text("topology: replica set")).to_be_visible()
    assert find_misfits(page) == []
    check = {"name": "password", "ok": False, "detail": HOSTILE, "mend": "start it with --auth"}
    answer = {"version": "1", "workers": 2, "mongodb": {"version": "8", "topology": "x"}, "leader": False, "jobs": []}
    page.route("**/system", lambda route: route.fulfill(json={**answer, "checks": [check]}))
    page.get_by_role("button", name="Check again").click()
    expect(page.get_by_text("1 to mend")).to_be_visible()
    expect(page.get_by_text("start it with --auth")).to_be_visible()
    assert find_faults(page) == []
