"""Bodies and answers of the endpoints of the profile's schema."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, WithJsonSchema
from typing_extensions import TypedDict

from service.domain.profiles.changes import WantedProfile
from service.domain.profiles.definition import DeclaredProfile
from service.web.collections.bodies import FieldDefinition
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
