"""The messages of a client, read as strictly as the body of a request, and the form of refusals over a socket."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from typing_extensions import TypedDict

from service.bounds import MAX_LIMIT, MAX_VALUES
from service.errors import Invalid, NotLive, ServiceError
from service.query.nodes import Count, ListQuery
from service.query.parse import parse_body
from service.schema.strict_json import load_object
from service.web.http.json_body import validated
from service.web.http.list_body import SortName, Where
from service.web.http.violations import list_violations

MAX_ID = 64
# Parameters of a list that a subscription does not take.
NOT_LIVE = ("populate", "offset", "with_counts")
# The type of the one violation of a page that is too large.
TOO_LARGE = "page_too_large"


class Subscribe(BaseModel):
    """A subscription: the records to find, and the order of its snapshot."""

    model_config = ConfigDict(strict=True, extra="forbid")

    type: Literal["subscribe"]
    id: str
    collection: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    where: Where = Field(default_factory=dict)
    sort_by: SortName = "created_at"
    sort_order: Literal["asc", "desc"] = "asc"
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = ListQuery().limit
    after: str | None = None


class Hello(TypedDict, total=False):
    """The first message: a user's token, or a key; and optionally the id of the expected project."""

    token: str
    key: str
    project: str


def read_message(raw: str) -> dict[str, Any]:
    """Raises Invalid."""
    return load_object(raw.encode("utf-8", "surrogatepass"), "A message", max_values=MAX_VALUES)


def read_hello(message: dict[str, Any]) -> Hello | None:
    """None for what is no hello of the right form."""
    parts = {name: value for name, value in message.items() if name != "type"}
    is_text = all(isinstance(value, str) for value in parts.values())
    known = parts.keys() <= {"token", "key", "project"} and len(parts.keys() & {"token", "key"}) == 1
    return Hello(**parts) if message.get("type") == "hello" and is_text and known else None  # type: ignore[typeddict-item]


def is_id(value: object) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= MAX_ID


def count_where_bytes(message: dict[str, Any]) -> int:
    """The bytes of a subscription's filter, as JSON without spaces."""
    where = message.get("where")
    return len(json.dumps(where, separators=(",", ":"), ensure_ascii=False).encode()) if where is not None else 0


def make_parse(message: dict[str, Any]) -> Callable[[], ListQuery]:
    """Returns a function that reads the query of a subscription. It raises Invalid, NotLive.

    It lives as long as the subscription, so it keeps no cursor, which may be as long as a message.
    """
    message = message | ({"after": ""} if isinstance(message.get("after"), str) else {})

    def parse() -> ListQuery:
        kept = {name: value for name, value in message.items() if name not in NOT_LIVE}
        form = validated(Subscribe, kept)
        if len(kept) < len(message):
            raise NotLive("A subscription takes no populate, no offset and no with_counts")
        sort = form.sort_by
        if form.sort_order == "desc":
            if sort.startswith("-"):
                raise Invalid.one(("body", "sort_order"), "The field to sort by says already that it descends")
            sort = f"-{sort}"
        body: dict[str, Any] = {"sort_by": [sort], "limit": form.limit}
        return replace(parse_body(body | ({"where": form.where} if "where" in message else {})), count=Count.NONE)

    return parse


def render_refusal(error: ServiceError) -> dict[str, object]:
    """The code and the detail that HTTP would answer. Places in a query string become places in the message."""
    if not isinstance(error, Invalid):
        return error.body()
    if [each.type for each in error.violations] == [TOO_LARGE]:
        return {"code": TOO_LARGE, "detail": error.violations[0].msg}
    found = [replace(each, loc=("body", *each.loc[1:])) for each in error.violations]
    return list_violations(Invalid(found, omitted=error.omitted))


def find_refusal(parse: Callable[[], object]) -> dict[str, object]:
    """The code and the detail of what refuses a query by its form."""
    try:
        parse()
    except ServiceError as error:
        return render_refusal(error)
    raise ValueError("The query has no fault")


def write_error(detail: str, id_: str | None = None) -> bytes:
    return orjson.dumps({"type": "error", **({"id": id_} if id_ is not None else {}), "detail": detail})
