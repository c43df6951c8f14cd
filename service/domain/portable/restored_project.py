"""The record of a restored project, made of a backup's `project.json`. Pure, but for the keys that it opens and seals."""

from dataclasses import dataclass, field
from typing import Any

from service.domain.portable.manifest import PROJECT
from service.domain.portable.project_text import KeyText, ProjectText, ProviderText, SigningKeyText
from service.domain.projects.keys import PUBLISHABLE, SECRET, ProjectKeys, new_key
from service.domain.projects.lookup import place_of_signer
from service.domain.projects.providers import PROVIDER_SECRETS
from service.domain.projects.secrets import SecretBox
from service.domain.projects.settings import SECRET_SETTINGS
from service.domain.projects.signing_keys import new_signing_key
from service.errors import BackupDamaged, ConfigurationError
from service.schema.values import BadValue, now, read_time
from service.storage.client import Document

TIMES = ("created_at", "last_used_at")
# Settings that a copy never has: it sends no mail.
OWN_MAIL = frozenset({"SMTP_URL", "MAIL_FROM"})
QUIET = {"MAIL_DELIVERY": "keep"}


@dataclass(frozen=True, slots=True)
class RestoredProject:
    """The record to store, the records of its keys, and what an operator must set again, by name.

    `new_keys` are those of a copy, which are shown once.
    """

    record: Document
    keys: list[Document]
    needs: list[str]
    new_keys: ProjectKeys | None = field(default=None, repr=False)


def make_project(text: ProjectText, box: SecretBox, *, is_ours: bool, with_keys: bool) -> RestoredProject:
    """The project under the id that it had. A backup of another SECRET_KEY brings no signing key.

    A secret that SECRET_KEY does not open is left out, and a provider with one as a whole.
    """
    settings, providers = _open_settings(text, box), _open_providers(text, box)
    record = {
        **_describe(text.id, text.name, _read_time(text.created_at), settings, providers),
        **_keep_signing_keys(text, box, is_ours=is_ours),
        **_move_signers(text, box, text.id),
    }
    keys = [_make_key(text.id, key) for key in text.keys] if with_keys else []
    needs = _list_needs(text, settings, providers)
    return RestoredProject(record, keys, needs if keys or not text.keys else [*needs, "API keys"])


def make_copy(
    text: ProjectText, box: SecretBox, project_id: str, *, name: str | None, with_secrets: bool
) -> RestoredProject:
    """The project under another id, with keys of its own. It sends no mail; other secrets come `with_secrets` only."""
    settings = {name: value for name, value in _open_settings(text, box).items() if name not in OWN_MAIL}
    kept = {name: value for name, value in settings.items() if with_secrets or name not in SECRET_SETTINGS}
    sealed = {
        name: _seal_again(box, value, f"{text.id}/{name}", f"{project_id}/{name}") if name in SECRET_SETTINGS else value
        for name, value in kept.items()
    }
    found = _open_providers(text, box)
    providers = {
        name: _move_provider(box, each, f"{text.id}/{name}", f"{project_id}/{name}")
        for name, each in found.items()
        if with_secrets or not each["settings"].keys() & PROVIDER_SECRETS
    }
    record = {
        **_describe(project_id, name or text.name, now(), sealed | QUIET, providers),
        "signing_key": _new_signing_key(box, project_id),
        **_move_signers(text, box, project_id),
    }
    secret, publishable = new_key(project_id, SECRET, "default"), new_key(project_id, PUBLISHABLE, "default")
    needs = [each for each in _list_needs(text, kept, providers) if each not in OWN_MAIL]
    keys = ProjectKeys(secret.key, publishable.key)
    return RestoredProject(record, [secret.record, publishable.record], needs, keys)


def _describe(project_id: str, name: str, created_at: Any, settings: Document, providers: Document) -> Document:
    record = {"_id": project_id, "name": name, "settings": settings, "created_at": created_at}
    return {**record, "providers": providers} if providers else record


def _list_needs(text: ProjectText, settings: Document, providers: Document) -> list[str]:
    """The settings and providers of a backup that the restored project lacks."""
    names = sorted(text.providers.keys() - providers.keys())
    return [*sorted(text.settings.keys() - settings.keys()), *(f"provider {name}" for name in names)]


def _open_settings(text: ProjectText, box: SecretBox) -> Document:
    """Without the secrets that do not open."""
    return {
        name: value
        for name, value in text.settings.items()
        if name not in SECRET_SETTINGS or _is_sealed(box, value, f"{text.id}/{name}")
    }


def _open_providers(text: ProjectText, box: SecretBox) -> dict[str, Document]:
    """Those whose secrets open."""
    return {
        name: {**each.model_dump(), "created_at": _read_time(each.created_at)}
        for name, each in text.providers.items()
        if _opens(box, f"{text.id}/{name}", each)
    }


def _opens(box: SecretBox, place: str, provider: ProviderText) -> bool:
    sealed = {name: value for name, value in provider.settings.items() if name in PROVIDER_SECRETS}
    return all(_is_sealed(box, value, f"{place}/{name}") for name, value in sealed.items())


def _move_provider(box: SecretBox, provider: Document, before: str, after: str) -> Document:
    settings = {
        name: _seal_again(box, value, f"{before}/{name}", f"{after}/{name}") if name in PROVIDER_SECRETS else value
        for name, value in provider["settings"].items()
    }
    return {**provider, "settings": settings}


def _keep_signing_keys(text: ProjectText, box: SecretBox, *, is_ours: bool) -> Document:
    """The keys of a backup that is ours; a new one where the present key does not open."""
    place = f"{text.id}/signing_key"
    if not is_ours or not _is_sealed(box, text.signing_key, place):
        return {"signing_key": _new_signing_key(box, text.id)}
    others: Document = {}
    if text.next_signing_key and _is_sealed(box, text.next_signing_key.sealed, place):
        others["next_signing_key"] = _read_times(text.next_signing_key)
    previous = [_read_times(each) for each in text.previous_signing_keys if _is_sealed(box, each.sealed, place)]
    return {"signing_key": text.signing_key, **others, **({"previous_signing_keys": previous} if previous else {})}


def _move_signers(text: ProjectText, box: SecretBox, project_id: str) -> Document:
    """Those keys that open, sealed for the project: a copy has them, too, for else no imported user could log in."""
    kept = {
        name: _seal_again(box, sealed, place_of_signer(text.id, name), place_of_signer(project_id, name))
        for name, sealed in text.signer_keys.items()
        if _is_sealed(box, sealed, place_of_signer(text.id, name))
    }
    return {"signer_keys": kept} if kept else {}


def _read_times(key: SigningKeyText) -> Document:
    times = key.model_dump(exclude={"sealed"}, exclude_none=True)
    return {"sealed": key.sealed, **{name: _read_time(value) for name, value in times.items()}}


def _new_signing_key(box: SecretBox, project_id: str) -> str:
    return box.seal(new_signing_key(project_id), f"{project_id}/signing_key")


def _make_key(project_id: str, key: KeyText) -> Document:
    named = {name: value for name, value in key.model_dump().items() if value is not None and name != "sha256"}
    times = {name: _read_time(named[name]) for name in TIMES if name in named}
    return {"_id": key.sha256, "project_id": project_id, **named, **times}


def _seal_again(box: SecretBox, sealed: str, before: str, after: str) -> str:
    return box.seal(box.open(sealed, before), after)


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
