"""The states of a page: loading, empty, and each failure of a request, with what the operator may do."""

from typing import Any

from playwright.sync_api import Route, expect

from tests.console.conftest import Console, find_faults, needs_console

pytestmark = needs_console


def answer_with(status: int, body: dict[str, Any], **headers: str) -> Any:
    def handle(route: Route) -> None:
        route.fulfill(status=status, json=body, headers=headers)

    return handle


def never_answer(_: Route) -> None:
    """The request stays open."""


def test_an_operator_without_projects_is_shown_the_first_step(console: Console) -> None:
    page = console.open("#/me")
    page.get_by_role("heading", name="My account").wait_for()
    page.route("**/admin/v1/projects?*", answer_with(200, {"projects": [], "total": 0, "next": None}))
    page.goto(f"{console.url}#/")
    expect(page.get_by_role("heading", name="No projects yet")).to_be_visible()
    expect(page.get_by_text("curl -X POST")).to_be_visible()
    assert find_faults(page) == []


def test_each_failure_says_what_to_do(console: Console) -> None:
    page = console.open("#/operators")
    listed = page.get_by_role("region", name="Open invitations")
    expect(listed).to_be_visible()
    asked = "**/admin/v1/projects?*"
    page.route(
        asked,
        answer_with(
            503, {"detail": "MongoDB is away", "code": "unavailable"}, **{"retry-after": "1", "x-request-id": "0b1c"}
        ),
    )
    page.goto(f"{console.url}#/")
    expect(page.get_by_role("alert")).to_contain_text("MongoDB is away")
    expect(page.get_by_role("button", name="Copy the request's id")).to_be_visible()
    assert find_faults(page) == []
    page.unroute(asked)
    expect(page.get_by_role("link", name="Ferry times")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.route(
        "**/admin/v1/operators",
        answer_with(403, {"detail": "Not allowed", "code": "forbidden", "needs": "*:deployment:read"}),
    )
    page.goto(f"{console.url}#/operators")
    expect(page.get_by_text("*:deployment:read")).to_be_visible()
    assert find_faults(page) == []
    page.route(asked, lambda route: route.abort())
    page.goto(f"{console.url}#/")
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")


def test_what_takes_long_can_be_cancelled(console: Console) -> None:
    page = console.open("#/me")
    page.get_by_role("heading", name="My account").wait_for()
    page.clock.install()
    page.route("**/admin/v1/projects?*", never_answer)
    page.goto(f"{console.url}#/")
    page.get_by_role("heading", name="Projects", exact=True).wait_for()
    page.clock.run_for(200)
    expect(page.locator(".skeleton").first).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(1)
    assert page.get_by_text("Still working").count() == 0
    page.clock.run_for(5_000)
    expect(page.get_by_text("Still working")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Cancelled")).to_be_visible()
