"""With no new setting, the specified endpoints answer byte for byte as the version 2fc71fe did, recorded in
`before.json`.

DIFFERENCES gives the reasons for other answers. The file is never rewritten. It was made in a checkout of that version
with this folder in it, where a test made a project as the one below does, and wrote `json.dumps(answers,
ensure_ascii=False, indent=1)`.
"""

import json
import re
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from service.domain.limits.policies import HOUR
from service.domain.profiles.changes import WantedProfile, replace_profile
from service.domain.projects.admin import ProjectAdmin
from service.domain.projects.keys import ProjectKeys
from service.domain.projects.lookup import Project
from service.query.parse import OTHERS
from service.services import Services
from tests.recorded.exchanges import PROVIDER, play

BEFORE: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("before.json").read_text())
# The end of a window within the test would let more through than its limit.
MARGIN_SECONDS = 60
Answer = dict[str, Any]


def _replaced(old: str, new: str) -> Callable[[Answer], None]:
    def change(answer: Answer) -> None:
        assert old in answer["body"]
        answer["body"] = answer["body"].replace(old, new)

    return change


def _with_header(name: str, value: str) -> Callable[[Answer], None]:
    return lambda answer: answer["headers"].update({name: value})


def _spends_no_day(answer: Answer) -> None:
    headers = answer["headers"]
    for name in ("ratelimit", "ratelimit-policy"):
        headers[name] = headers[name].partition(", ")[0]


@dataclass(frozen=True)
class Difference:
    """A change of the answers to the requests whose name matches `request`."""

    why: str
    request: str
    change: Callable[[Answer], None]


OPERATORS = ("_icontains, _in, _isnull", "_icontains, _startswith, _in, _hasall, _isnull")
COUNTS = ("Must be true or false", "Must be one of true, false, exact, none, estimated, capped")
# The end of each user of a list, and what stands there now.
LISTED = re.compile(r'("created_at":"<time>")(?=})')
ACCOUNT_BEHIND = r'\1,"email_verified":false,"disabled":false,"claims":{}'
REACHED = re.compile(r"(?<=The limit of )\d+ (signup|login)s an hour from one address is reached")


def _with_setting(found: re.Match[str]) -> str:
    return f"{found[0]}; the project's {found[1].upper()}_LIMIT decides it, see docs/limits.md"


SHORT = '{"loc":["body","password"],"msg":"Password must have at least 8 characters","type":"string_too_short"}'
OWN, DOCUMENTS = r"/auth-collections/user", r"/api/collections/articles/documents"
DIFFERENCES = (
    Difference("one's own record has a version", rf"GET {OWN} #0", _with_header("etag", '"v1"')),
    Difference("one's own record has a version", rf"PUT {OWN} #0", _with_header("etag", '"v2"')),
    Difference("one's own record has a version", rf"PUT {OWN} #4", _with_header("etag", '"v3"')),
    Difference("one's own record has a version", rf"PUT {OWN} #5", _with_header("etag", '"v4"')),
    Difference(
        "accounts can be deleted", rf"(PATCH|OPTIONS) {OWN} #0", _with_header("allow", "DELETE, GET, HEAD, PUT")
    ),
    Difference(
        "a refusal names the setting of the limit",
        r".*",
        lambda answer: answer.update(body=REACHED.sub(_with_setting, answer["body"])),
    ),
    Difference("totals can be estimated", r".*\?count=perhaps #0", _replaced(*COUNTS)),
    Difference("there are more operators", r".*\?(name_like=x|a=1) #0", _replaced(*OPERATORS)),
    Difference(
        "an unknown parameter is refused with those that there are",
        r".*\?(name_like=x|a=1) #0",
        _replaced("_isnull", f"_isnull{OTHERS}"),
    ),
    Difference(
        "an unknown field of a body is refused with where fields of a record go",
        r"POST /api/collections/articles/documents #5",
        _replaced('not permitted"', 'not permitted; put the fields of a record under data"'),
    ),
    Difference(
        "a bad address hides no bad password",
        r"POST /auth-collections/signup #4",
        _replaced('"value_error"}]', f'"value_error"}},{SHORT}]'),
    ),
    Difference(
        "rules may let users list users, so their requests count",
        r"GET /auth-collections/users #2",
        lambda answer: answer["headers"].update(
            {
                "ratelimit": '"auth";r=999;t=<seconds>, "daily";r=<left>;t=<seconds>',
                "ratelimit-policy": '"auth";q=1000;w=3600, "daily";q=1000;w=86400',
            }
        ),
    ),
    Difference(
        "a user sees whether the own address is proven",
        r"POST /auth-collections/(signup #([012]|9|10)|login #[01])",
        _replaced('<time>"}}', '<time>","email_verified":false}}'),
    ),
    Difference(
        "a user sees whether the own address is proven",
        rf"(GET {OWN} #0|PUT {OWN} #[045])",
        _replaced('<time>","updated_at"', '<time>","email_verified":false,"updated_at"'),
    ),
    Difference(
        "servers see the accounts of the users that they list",
        r"GET /auth-collections/users(\?.*)? #0",
        lambda answer: answer.update(body=LISTED.sub(ACCOUNT_BEHIND, answer["body"])),
    ),
    Difference("a document has a version", rf"POST {DOCUMENTS} #[01]", _with_header("etag", '"v1"')),
    Difference("a document has a version", rf"POST {DOCUMENTS} #[01]", _replaced('<time>"}', '<time>","version":1}')),
    Difference(
        "collections can be followed",
        r"(POST /api/collections #0|GET /api/collections #1)",
        _replaced(',"created_at"', ',"realtime":false,"created_at"'),
    ),
    Difference(
        "who sends no credential spends no day",
        r"GET /auth-collections/login-idp\?.* #0|GET .*/?auth-idp-redirect/<project>.*",
        _spends_no_day,
    ),
)


def expected_answers() -> dict[str, Answer]:
    """As before, with all differences. Fails where one is of no answer."""
    found = deepcopy(BEFORE)
    for difference in DIFFERENCES:
        names = [name for name in found if re.fullmatch(difference.request, name)]
        assert names, difference
        for name in names:
            difference.change(found[name])
    return found


@pytest.fixture
def _within_one_hour() -> None:
    if (left := HOUR - time.time() % HOUR) < MARGIN_SECONDS:
        time.sleep(left)


@pytest.mark.usefixtures("_within_one_hour", "emptied")
async def test_every_specified_answer_is_as_it_was(admin: ProjectAdmin, http: httpx2.AsyncClient) -> None:
    await _compare(http, *await admin.create("A project", None, {**PROVIDER, "TIER": "free"}))


@pytest.mark.usefixtures("_within_one_hour", "emptied")
async def test_k26_a_profile_that_declares_nothing_changes_no_answer(
    admin: ProjectAdmin, http: httpx2.AsyncClient, services: Services
) -> None:
    project, keys = await admin.create("A project", None, {**PROVIDER, "TIER": "free"})
    await replace_profile(services.accounts.profiles, project, WantedProfile({}, additional=True))
    await _compare(http, project, keys)


async def _compare(http: httpx2.AsyncClient, project: Project, keys: ProjectKeys) -> None:
    answers, expected = await play(http, keys.secret, project.id), expected_answers()
    assert list(answers) == list(expected)
    for name, answer in expected.items():
        # Servers are shown this, and it is written at some moment within a second after a sign-in.
        answers[name]["body"] = answers[name]["body"].replace(',"last_sign_in_at":"<time>"', "")
        assert answers[name] == answer, name


def test_the_requests_reach_each_kind_of_answer_that_the_specification_has() -> None:
    statuses = {answer["status"] for answer in BEFORE.values()}
    assert {200, 201, 302, 400, 401, 404, 422, 429} <= statuses
    said = " ".join(answer["body"] for answer in BEFORE.values())
    for detail in (
        "Email already registered",
        "Invalid email or password",
        "User not found",
        "Invalid token or token expired",
    ):
        assert f'"detail":"{detail}"' in said
    assert any("svc-error=authentication_failed" in answer["headers"].get("location", "") for answer in BEFORE.values())
