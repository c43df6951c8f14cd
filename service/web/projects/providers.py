"""The identity providers of a project, and the presets that they are made from."""

from functools import partial
from typing import Annotated, Any

from pydantic import Field
from starlette.requests import Request
from typing_extensions import TypedDict

from service.domain.access.caller import AdminCaller, OperatorCaller
from service.domain.permissions import Access
from service.domain.projects.provider_administration import ProviderEntry
from service.domain.projects.provider_forms import list_presets
from service.domain.projects.providers import DEFAULT, PROVIDER_SECRETS
from service.domain.projects.settings import SECRET_SETTINGS
from service.errors import Busy, ProviderNotFound
from service.schema.outcomes import Trial
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.http.json_body import RequestWith, read_form
from service.web.http.render import Json, NoContent
from service.web.openapi.declaration import Schema, Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint
from service.web.openapi.shapes import Strict

SECRETS = PROVIDER_SECRETS | SECRET_SETTINGS
EXAMPLE = {
    "name": "google",
    "title": "Google",
    "preset": "google",
    "redirect_url": "https://auth.example.com/auth-collections/auth-idp-redirect/shop/google",
    "settings": {"CLIENT_ID": "1234.apps.googleusercontent.com"},
    "secrets": ["CLIENT_SECRET"],
}
EXAMPLE_TRIAL = {"ok": True, "steps": [{"step": "discovery", "ok": True, "detail": None}]}
ONE = {"google": EXAMPLE}
NAME: dict[str, Schema] = {
    "name": {
        "description": "The project's name of the provider; `default` is that of the IDP settings.",
        "schema": {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$"},
        "example": "google",
    }
}
# A trial takes ten seconds, and looks at the address once more.
TRIAL_SECONDS = 15.0

in_project = partial(endpoint, credential=Credential.OPERATOR_IN_PROJECT, tag=Tag.PROJECTS)
of_provider = partial(in_project, path_parameters=NAME, errors=(ProviderNotFound,))


class ProviderSettingsView(TypedDict):
    """`secrets` are the names of secrets that are set; `preset` is null for the provider of the IDP settings."""

    name: str
    title: str
    preset: str | None
    redirect_url: str
    settings: dict[str, Any]
    secrets: list[str]


class ProviderList(TypedDict):
    providers: list[ProviderSettingsView]


class ProviderSettingsForm(Strict):
    """The whole provider: a setting that is left out goes, but a secret that is left out stays; null removes it."""

    preset: str | None = None
    settings: Annotated[dict[str, str | None], Field(description="`/admin/v1/provider-presets` describes each")]


class PresetView(TypedDict):
    name: str
    title: str
    json_schema: Annotated[dict[str, Any], Field(alias="schema")]


class StepView(TypedDict):
    step: str
    ok: bool
    detail: str | None


class TrialView(TypedDict):
    """The steps in their order, up to the first that failed."""

    ok: bool
    steps: list[StepView]


@endpoint(
    "GET /admin/v1/provider-presets",
    credential=Credential.OPERATOR,
    tag=Tag.PROJECTS,
    operator=Access("any", "read"),
    answer=Success("The presets, each with the JSON Schema of its settings", {"none": {"presets": []}}),
)
async def list_provider_presets(request: Request, caller: AdminCaller, services: Services) -> Json[dict[str, Any]]:
    """List the presets of identity providers."""
    return Json({"presets": list_presets()})


@in_project(
    f"GET {IN_PROJECT}/providers",
    operator=Access("config", "read"),
    answer=Success("All of them; that of the IDP settings first", {"one": {"providers": [EXAMPLE]}}),
)
async def list_providers(request: Request, caller: OperatorCaller, services: Services) -> Json[ProviderList]:
    """List the identity providers of a project."""
    return Json({"providers": [_view(entry) for entry in await services.base.providers.list(caller.project.id)]})


@of_provider(
    f"GET {IN_PROJECT}/providers/{{name}}", operator=Access("config", "read"), answer=Success("The provider", ONE)
)
async def read_provider(request: Request, caller: OperatorCaller, services: Services) -> Json[ProviderSettingsView]:
    """Show an identity provider."""
    return Json(_view(await services.base.providers.find(caller.project.id, request.path_params["name"])))


@in_project(
    f"PUT {IN_PROJECT}/providers/{{name}}",
    operator=Access("config", "write"),
    path_parameters=NAME,
    description="In force within five seconds. Without `preset` that of the provider stays.",
    body={"google": {"preset": "google", "settings": {"CLIENT_ID": "1234", "CLIENT_SECRET": "GOCSPX"}}},
    answer=Success("The provider afterwards", ONE),
)
async def set_provider(
    request: RequestWith[ProviderSettingsForm], caller: OperatorCaller, services: Services
) -> Json[ProviderSettingsView]:
    """Add an identity provider, or replace one."""
    form, name = await read_form(request), request.path_params["name"]
    entry = await services.base.providers.replace(caller.project.id, name, form.preset, form.settings)
    return Json(_view(entry))


@of_provider(
    f"DELETE {IN_PROJECT}/providers/{{name}}",
    operator=Access("config", "write"),
    answer=Success("No sign-in by it succeeds any more; its users stay"),
)
async def remove_provider(request: Request, caller: OperatorCaller, services: Services) -> NoContent:
    """Remove an identity provider."""
    await services.base.providers.remove(caller.project.id, request.path_params["name"])
    return NoContent()


@in_project(
    f"POST {IN_PROJECT}/providers/{{name}}/check",
    operator=Access("config", "write"),
    path_parameters=NAME,
    description="As a sign-in would use it, within 10 seconds. A failure in a private network is `not allowed`.",
    answer=Success("The outcome of each step", {"good": EXAMPLE_TRIAL}),
    errors=(ProviderNotFound, Busy),
    answer_seconds=TRIAL_SECONDS,
)
async def check_provider(request: Request, caller: OperatorCaller, services: Services) -> Json[TrialView]:
    """Try an identity provider."""
    name = request.path_params["name"]
    trial = await services.trials.check_provider(caller.project, None if name == DEFAULT else name)
    return Json({"ok": trial.ok, "steps": steps_view(trial)})


def steps_view(trial: Trial) -> list[StepView]:
    return [{"step": step.step, "ok": step.ok, "detail": step.detail} for step in trial.steps]


def _text(value: Any) -> Any:
    """A list as the text of its values, as a request sends it."""
    return ",".join(value) if isinstance(value, list) else value


def _view(entry: ProviderEntry) -> ProviderSettingsView:
    return {
        "name": entry.name,
        "title": entry.title,
        "preset": entry.preset,
        "redirect_url": entry.redirect_url,
        "settings": {name: _text(value) for name, value in entry.settings.items() if name not in SECRETS},
        "secrets": sorted(entry.settings.keys() & SECRETS),
    }
