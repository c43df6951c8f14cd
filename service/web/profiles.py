"""The schema of users' profiles over HTTP: it is read, looked at in a dry run, and replaced. See docs/profiles.md."""

from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, WithJsonSchema
from starlette.requests import Request
from typing_extensions import TypedDict

from service.domain.access.caller import SecretKeyCaller
from service.domain.limits.policies import DAILY
from service.domain.permissions import Access
from service.domain.profiles.changes import WantedProfile, preview_profile, replace_profile
from service.domain.profiles.definition import DeclaredProfile
from service.errors import SchemaChanging, SchemaConflict, VersionConflict
from service.schema.versions import is_tag_named
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.collections.bodies import CONFLICT, FieldDefinition, SchemaFindings, findings_view
from service.web.collections.endpoints import CHANGE_ANSWER_SECONDS
from service.web.http.json_body import RequestWith, read_form
from service.web.http.query_values import read_flags
from service.web.http.render import Json
from service.web.openapi.declaration import TEXT, ErrorExample, Parameter, Success, Tag
from service.web.openapi.endpoint import endpoint
from service.web.openapi.shapes import EXAMPLE_TIME, ShownAs, Time

EXAMPLE_PROFILE = {
    "schema": {
        "plan": {"type": "string", "enum": ["free", "pro"], "default": "free"},
        "born": {"type": "datetime"},
        "referred_by_id": {"type": "reference", "collection": "users"},
    },
    "additional": True,
}
EXAMPLE_DECLARED = {**EXAMPLE_PROFILE, "updated_at": EXAMPLE_TIME}

Additional = Annotated[StrictBool, Field(description="Whether profiles take fields that are not declared")]


class ProfileSchemaForm(BaseModel):
    """The whole declaration. Definitions are those of collections, without `required`, `unique` and `index`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    declared: Annotated[dict[str, Any], ShownAs(dict[str, FieldDefinition])] = Field(alias="schema")
    additional: Additional = True

    def wanted(self) -> WantedProfile:
        return WantedProfile(self.declared, self.additional)


class ProfileSchema(TypedDict):
    schema: dict[str, FieldDefinition]
    additional: Additional
    updated_at: Annotated[
        Time | None,
        Field(description="None where no schema was ever declared"),
        WithJsonSchema({"type": ["string", "null"], "format": "date-time"}),
    ]


def profile_schema_view(profile: DeclaredProfile) -> ProfileSchema:
    return {"schema": dict(profile.schema), "additional": profile.additional, "updated_at": profile.updated_at}


ETAG = {"ETag": "The version of the schema, for If-Match"}

by_server = partial(endpoint, credential=Credential.API_KEY, policy=DAILY, tag=Tag.USERS)


@by_server(
    "GET /auth-collections/schema",
    operator=Access("data", "read", other="schema"),
    description="An empty schema that takes additional fields where none was ever declared.",
    answer=Success("The schema of profiles", {"declared": EXAMPLE_DECLARED}, ETAG),
)
async def read_profile_schema(request: Request, caller: SecretKeyCaller, services: Services) -> Json[ProfileSchema]:
    """Get the schema of users' profiles."""
    found = await services.accounts.profiles.refresh(caller.project)
    return Json(profile_schema_view(found), {"etag": found.etag})


@by_server(
    "PUT /auth-collections/schema",
    operator=Access("schema", "write"),
    description="Replaces the whole schema. Users who would break it, and whom no default repairs, are counted and nothing "
    "changes. Absent defaults are filled in.",
    parameters=(
        Parameter(name="dry_run", description="Only tell what the change would meet.", schema={"type": "boolean"}),
        Parameter(
            name="If-Match", location="header", description="Only where this is the version in force.", schema=TEXT
        ),
    ),
    body={"a plan": EXAMPLE_PROFILE, "nothing": {"schema": {}, "additional": True}},
    answer=Success(
        "The schema afterwards; with `dry_run=true` what the change would meet",
        {"changed": EXAMPLE_DECLARED, "dry run": {"applies": False, "repairs": 0, "conflicts": CONFLICT}},
        ETAG,
    ),
    errors=(
        ErrorExample(SchemaConflict, CONFLICT),
        SchemaChanging,
        ErrorExample(VersionConflict, '"3f2a"'),
    ),
    answer_seconds=CHANGE_ANSWER_SECONDS,
)
async def replace_profile_schema(
    request: RequestWith[ProfileSchemaForm], caller: SecretKeyCaller, services: Services
) -> Json[ProfileSchema | SchemaFindings]:
    """Replace the schema of users' profiles, or tell what a change would meet."""
    dry_run = read_flags(request, ("dry_run",))["dry_run"]
    if_match = request.headers.get("if-match")

    def allow(profile: DeclaredProfile) -> None:
        if not is_tag_named(if_match, profile.etag):
            raise VersionConflict(profile.etag)

    wanted = (await read_form(request)).wanted()
    if dry_run:
        return Json(findings_view(await preview_profile(services.accounts.profiles, caller.project, wanted, allow)))
    found = await replace_profile(services.accounts.profiles, caller.project, wanted, allow)
    return Json(profile_schema_view(found), {"etag": found.etag})
