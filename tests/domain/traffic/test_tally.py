"""The counts of a worker: by project and hour, by kind and duration, and what is counted once more after a failure."""

import pytest

from service.domain.traffic.tally import (
    BYTES,
    DEPLOYMENT,
    FAILED,
    FIRST_BUCKET,
    FIRST_KIND,
    KINDS,
    LAST_AT,
    NO_KIND,
    REFUSED,
    REQUESTS,
    Tally,
    add_totals,
    find_kind,
    percentile,
)

HOUR = 3_600.0


def count(tally: Tally, at: float = 10.0, project: str | None = "p", **other: object) -> None:
    given = {
        "route": "/api/collections/{name}/documents",
        "status": 200,
        "seconds": 0.004,
        "size": 7,
        "is_stream": False,
    }
    tally.count(at, project, **given | other)  # type: ignore[arg-type]


def test_requests_are_counted_by_project_and_hour() -> None:
    tally = Tally()
    for at, project, status in ((10, "p", 200), (20, "p", 404), (HOUR, "p", 503), (30, "q", 200), (40, None, 401)):
        count(tally, at, project, status=status)
    rows = add_totals(tally.take())
    assert {
        key: [row[place] for place in (REQUESTS, REFUSED, FAILED, BYTES, LAST_AT)] for key, row in rows.items()
    } == {
        ("p", 0): [2, 1, 0, 14, 20],
        ("p", 1): [1, 0, 1, 7, HOUR],
        ("q", 0): [1, 0, 0, 7, 30],
        (DEPLOYMENT, 0): [4, 2, 0, 28, 40],
        (DEPLOYMENT, 1): [1, 0, 1, 7, HOUR],
    }
    assert tally.take() == {}


def test_what_could_not_be_written_is_counted_once_more() -> None:
    tally = Tally()
    count(tally)
    taken = tally.take()
    count(tally, 20.0)
    tally.restore(taken)
    rows = tally.take()
    assert [rows["p", 0][place] for place in (REQUESTS, BYTES, LAST_AT)] == [2, 14, 20]


@pytest.mark.parametrize(
    ("route", "kind"),
    [
        ("/auth-collections/user", "auth"),
        ("/auth-idp-redirect/{project_id}", "auth"),
        ("/api/collections/{name}/documents", "data"),
        ("/api/collections/{name}/aggregate", "aggregate"),
        ("/auth-collections/users/aggregate", "aggregate"),
        ("/api/aggregations/{name}", "aggregate"),
        ("/api/files/sign", "files"),
        ("/files/{file_name}", "files"),
        ("/realtime", "realtime"),
    ],
)
def test_the_kind_of_a_route(route: str, kind: str) -> None:
    assert find_kind(route) == FIRST_KIND + KINDS.index(kind)


def test_other_routes_have_no_kind_and_those_of_operators_are_not_counted() -> None:
    assert find_kind("unmatched") == NO_KIND
    assert find_kind("/admin/v1/projects/{project_id}/api/collections") == 0
    tally = Tally()
    count(tally, route="/admin/v1/projects")
    assert tally.take() == {}


def test_streams_and_sockets_are_realtime() -> None:
    tally = Tally()
    count(tally, is_stream=True)
    tally.count_socket(11.0, "p")
    row = tally.take()["p", 0]
    assert (row[REQUESTS], row[FIRST_KIND + KINDS.index("realtime")]) == (2, 2)
    assert sum(row[FIRST_BUCKET:FIRST_KIND]) == 1


@pytest.mark.parametrize(
    ("seconds", "bucket"), [(0.0, 0), (0.001, 0), (0.0011, 1), (0.002, 1), (2.0, 10), (2.1, 11), (60.0, 11)]
)
def test_a_duration_falls_into_the_bucket_below_its_upper_edge(seconds: float, bucket: int) -> None:
    tally = Tally()
    count(tally, seconds=seconds)
    assert tally.take()["p", 0][FIRST_BUCKET:FIRST_KIND].index(1) == bucket


@pytest.mark.parametrize(
    ("buckets", "part", "edge"),
    [
        ([0] * 12, 0.5, None),
        ([1, *[0] * 11], 0.5, 1),
        ([90, 10, *[0] * 10], 0.95, 2),
        ([95, 5, *[0] * 10], 0.95, 1),
        ([0] * 11 + [3], 0.5, 5_000),
    ],
)
def test_percentiles_are_upper_edges(buckets: list[int], part: float, edge: int | None) -> None:
    assert percentile(buckets, part) == edge
