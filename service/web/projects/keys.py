"""The API keys and the signing keys of a project."""

from functools import partial
from typing import Literal

from starlette.requests import Request
from typing_extensions import TypedDict

from service.domain.access.caller import OperatorCaller
from service.domain.permissions import Access
from service.domain.projects.keys import KeyEntry, Kind, NewKey
from service.errors import Conflict, KeyLimit, KeyNotFound
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.http.json_body import RequestWith, read_form
from service.web.http.render import Created, Json, NoContent
from service.web.openapi.declaration import ErrorExample, Schema, Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint
from service.web.openapi.shapes import EXAMPLE_TIME, Strict, Time

KEY_ID = "0a1b2c3d4e5f"
EXAMPLE = {"id": KEY_ID, "kind": "secret", "name": "a job", "created_at": EXAMPLE_TIME, "last_used_at": None}
EXAMPLE_NEW = {
    "id": KEY_ID,
    "kind": "secret",
    "name": "a job",
    "created_at": EXAMPLE_TIME,
    "key": "ac_shop_" + "a" * 32,
}
KIDS = {"kid": "shop.0a1b2c3d", "next": "shop.4e5f6a7b", "previous": ["shop.8c9d0e1f"]}
ID: dict[str, Schema] = {
    "id": {
        "description": "The key's id, which is no secret.",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{12}$"},
        "example": KEY_ID,
    }
}
# A rotation with `now` waits until every worker knows the next key.
ROTATION_SECONDS = 20.0

WRITE = Access("config", "write", confirm=True)
in_project = partial(endpoint, credential=Credential.OPERATOR_IN_PROJECT, tag=Tag.PROJECTS)


class KeyView(TypedDict):
    """`last_used_at` is written every half minute."""

    id: str
    kind: Kind
    name: str
    created_at: Time
    last_used_at: Time | None


class KeyList(TypedDict):
    keys: list[KeyView]


class NewKeyView(TypedDict):
    """`key` is shown once."""

    id: str
    kind: Kind
    name: str
    created_at: Time
    key: str


class KeyForm(Strict):
    """A name for people, and what the key is for: `secret` for servers, `publishable` for pages and apps."""

    kind: Literal["secret", "publishable"]
    name: str


class RotationForm(Strict):
    """`now`: also where the next key was published less than ten minutes ago."""

    now: bool = False


class SigningKeysView(TypedDict):
    """The ids of the keys that sign user tokens: the present one, the next one, and those whose tokens live."""

    kid: str
    next: str
    previous: list[str]


@in_project(
    f"GET {IN_PROJECT}/keys",
    operator=Access("config", "read"),
    answer=Success("Oldest first", {"one": {"keys": [EXAMPLE]}}),
)
async def list_keys(request: Request, caller: OperatorCaller, services: Services) -> Json[KeyList]:
    """List the API keys of a project, without the keys themselves."""
    return Json({"keys": [_view(entry) for entry in await services.base.keys.list(caller.project.id)]})


@in_project(
    f"POST {IN_PROJECT}/keys",
    operator=WRITE,
    body={"of a job": {"kind": "secret", "name": "a job"}},
    answer=Success("The key, which is shown once", {"one": EXAMPLE_NEW}),
    errors=(ErrorExample(KeyLimit, 50),),
)
async def create_key(request: RequestWith[KeyForm], caller: OperatorCaller, services: Services) -> Created[NewKeyView]:
    """Make an API key."""
    form = await read_form(request)
    return Created(_new_view(await services.base.keys.create(caller.project.id, form.kind, form.name)))


@in_project(
    f"POST {IN_PROJECT}/keys/rotate",
    operator=WRITE,
    description="All earlier secret keys are refused within five seconds.",
    answer=Success("The new secret key, which is shown once", {"one": EXAMPLE_NEW}),
)
async def rotate_keys(request: Request, caller: OperatorCaller, services: Services) -> Created[NewKeyView]:
    """Replace all secret keys of a project by a new one."""
    return Created(_new_view(await services.base.keys.rotate(caller.project.id)))


@in_project(
    f"DELETE {IN_PROJECT}/keys/{{id}}",
    operator=WRITE,
    answer=Success("It is refused within five seconds"),
    errors=(KeyNotFound,),
    path_parameters=ID,
)
async def revoke_key(request: Request, caller: OperatorCaller, services: Services) -> NoContent:
    """Revoke an API key."""
    await services.base.keys.revoke(caller.project.id, request.path_params["id"])
    return NoContent()


@in_project(
    f"POST {IN_PROJECT}/signing-key/rotate",
    operator=WRITE,
    description="The first call publishes the next key and is refused; it signs ten minutes later, or at once with `now`.",
    body={"at once": {"now": True}},
    needs_body=False,
    answer=Success("The ids of the keys afterwards", {"one": KIDS}),
    errors=(Conflict,),
    answer_seconds=ROTATION_SECONDS,
)
async def rotate_signing_key(
    request: RequestWith[RotationForm], caller: OperatorCaller, services: Services
) -> Json[SigningKeysView]:
    """Let the next key sign user tokens."""
    form = await read_form(request)
    keys = await services.base.signing_keys.rotate(caller.project.id, at_once=form.now)
    return Json({"kid": keys.current, "next": keys.next, "previous": list(keys.previous)})


def _view(entry: KeyEntry) -> KeyView:
    return {
        "id": entry.id,
        "kind": entry.kind,
        "name": entry.name,
        "created_at": entry.created_at,
        "last_used_at": entry.last_used_at,
    }


def _new_view(new: NewKey) -> NewKeyView:
    record = new.record
    return {
        "id": new.id,
        "kind": record["kind"],
        "name": record["name"],
        "created_at": record["created_at"],
        "key": new.key,
    }
