"""Bodies of the endpoints of projects."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints
from typing_extensions import TypedDict

from service.domain.permissions import Role
from service.domain.projects.admin import MAX_NAME
from service.domain.projects.lookup import PROJECT_ID
from service.web.openapi.shapes import EXAMPLE_TIME, Strict, Time

EXAMPLE_FIGURES = {
    "users": 77,
    "documents": 8_845,
    "storage_bytes": 9_400_320,
    "requests_24h": 1_412,
    "errors_24h": 31,
    "last_request_at": EXAMPLE_TIME,
    "as_of": EXAMPLE_TIME,
}
EXAMPLE_PROJECT = {
    "id": "shop",
    "name": "Shop",
    "created_at": EXAMPLE_TIME,
    "role": "owner",
    "figures": EXAMPLE_FIGURES,
}

ProjectName = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)]
ProjectId = Annotated[str, StringConstraints(pattern=f"^{PROJECT_ID.pattern}$")]


class NewProject(Strict):
    """`id` is made where it is not sent. `settings` are by their names, as `project settings` lists them."""

    name: ProjectName
    id: ProjectId | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


class ProjectChange(Strict):
    name: ProjectName


class DeletionForm(Strict):
    """The project's name, as people know it."""

    confirm: str


class Figures(TypedDict):
    """Measured every few minutes. Errors are answers from 400 on; the 24 hours are the present one and the 23 before."""

    users: int
    documents: int
    storage_bytes: int
    requests_24h: int
    errors_24h: int
    last_request_at: Time | None
    as_of: Time


class ProjectView(TypedDict):
    """`figures` are null before the first measurement, which a new project has within a minute."""

    id: str
    name: str
    created_at: Time
    role: Role
    figures: Figures | None


class ProjectList(TypedDict):
    projects: list[ProjectView]
    total: Annotated[int, Field(ge=0)]
    next: str | None


class MadeProject(TypedDict):
    project: ProjectView
    api_key: str
    publishable_key: str


class Deleting(TypedDict):
    deleting: Literal[True]
