"""The record of a restored project, made of a backup's `project.json`. Pure, but for the keys that it opens and seals."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from service.bounds import MAX_KEYS
from service.domain.portable.manifest import PROJECT, Digest
from service.domain.projects.admin import MAX_NAME
from service.domain.projects.lookup import PROJECT_ID
from service.domain.projects.providers import PROVIDER_SECRETS
from service.domain.projects.secrets import SecretBox
from service.domain.projects.settings import SECRET_SETTINGS
from service.domain.projects.signing_keys import new_signing_key
from service.errors import BackupDamaged, ConfigurationError
from service.schema.values import BadValue, read_time
from service.storage.client import Document

TIMES = ("created_at", "last_used_at")


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class ProviderText(_Part):
    preset: str
    settings: dict[str, Any]
    created_at: str


class KeyText(_Part):
    sha256: Digest
    created_at: str
    kind: str | None = None
    name: str | None = None
    last_used_at: str | None = None


class ProjectText(_Part):
    """A backup's project: secrets are sealed, and keys are hashes."""

    id: Annotated[str, StringConstraints(pattern=f"^{PROJECT_ID.pattern}$")]
    name: Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)]
    created_at: str
    settings: dict[str, Any]
    providers: dict[str, ProviderText] = Field(default_factory=dict)
    keys: Annotated[list[KeyText], Field(max_length=MAX_KEYS)]


@dataclass(frozen=True, slots=True)
class RestoredProject:
    """The record to store, the records of its keys, and what an operator must set again, by name."""

    record: Document
    keys: list[Document]
    needs: list[str]


def read_project(data: bytes) -> ProjectText:
    """Raises BackupDamaged."""
    try:
        return TypeAdapter(ProjectText).validate_json(data)
    except ValidationError as error:
        place = ".".join(map(str, error.errors(include_input=False)[0]["loc"]))
        raise BackupDamaged(f"{PROJECT} has another form than a backup's, at {place}") from None


def make_project(text: ProjectText, box: SecretBox, *, with_keys: bool) -> RestoredProject:
    """The project under the id that it had. It signs with a new key, so that no earlier token is good.

    A secret that SECRET_KEY does not open is left out, and a provider with one as a whole.
    """
    settings = {name: value for name, value in text.settings.items() if _opens(box, text.id, name, value)}
    providers = {
        name: _keep_provider(each)
        for name, each in text.providers.items()
        if all(_opens_of_provider(box, text.id, name, item) for item in each.settings.items())
    }
    record = {
        "_id": text.id,
        "name": text.name,
        "settings": settings,
        "signing_key": box.seal(new_signing_key(text.id), f"{text.id}/signing_key"),
        "created_at": _read_time(text.created_at),
        **({"providers": providers} if providers else {}),
    }
    needs = [*sorted(text.settings.keys() - settings.keys())]
    needs += [f"provider {name}" for name in sorted(text.providers.keys() - providers.keys())]
    keys = [_make_key(text.id, key) for key in text.keys] if with_keys else []
    return RestoredProject(record, keys, needs if keys or not text.keys else [*needs, "API keys"])


def _keep_provider(provider: ProviderText) -> Document:
    return {**provider.model_dump(), "created_at": _read_time(provider.created_at)}


def _make_key(project_id: str, key: KeyText) -> Document:
    named = {name: value for name, value in key.model_dump().items() if value is not None and name != "sha256"}
    times = {name: _read_time(named[name]) for name in TIMES if name in named}
    return {"_id": key.sha256, "project_id": project_id, **named, **times}


def _opens(box: SecretBox, project_id: str, name: str, value: Any) -> bool:
    return name not in SECRET_SETTINGS or _is_sealed(box, value, f"{project_id}/{name}")


def _opens_of_provider(box: SecretBox, project_id: str, provider: str, item: tuple[str, Any]) -> bool:
    name, value = item
    return name not in PROVIDER_SECRETS or _is_sealed(box, value, f"{project_id}/{provider}/{name}")


def _is_sealed(box: SecretBox, value: Any, place: str) -> bool:
    try:
        box.open(value, place)
    except (ConfigurationError, ValueError, TypeError):
        return False
    return True


def _read_time(text: str) -> Any:
    try:
        return read_time(text)
    except BadValue:
        raise BackupDamaged(f"{PROJECT} has a time that is none") from None


def describe_needs(needs: list[str], *, is_ours: bool) -> list[str]:
    """Secrets of users are sealed as well: under another SECRET_KEY none of their authenticator apps can be checked."""
    return needs if is_ours else [*needs, "authenticator apps of users"]
