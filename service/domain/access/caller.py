"""Who makes a request, as its credential proves it. Knows nothing of how the credential was sent."""

from dataclasses import dataclass

from service.domain.projects.lookup import Project


@dataclass(frozen=True, slots=True)
class ServiceCaller:
    """Somebody who asks about the service itself, not about a project: its health, its metrics, its documentation."""


@dataclass(frozen=True, slots=True)
class AnonymousCaller:
    """Somebody without a credential, in the project that the URL or the environment names."""

    project: Project


@dataclass(frozen=True, slots=True)
class SecretKeyCaller:
    """A server of the project's developers, which may do everything in it."""

    project: Project


@dataclass(frozen=True, slots=True)
class UserCaller:
    """A user of the project, as long as the user's `token_version` is `version`."""

    project: Project
    user_id: str
    version: int


@dataclass(frozen=True, slots=True)
class PublishableKeyCaller:
    """A page or an app of the project at a client's `address`, with nobody signed in."""

    project: Project
    address: str = ""


# Those who send an API key.
KeyCaller = PublishableKeyCaller | SecretKeyCaller
# Those who ask within a project.
ProjectCaller = AnonymousCaller | PublishableKeyCaller | SecretKeyCaller | UserCaller
Caller = ServiceCaller | ProjectCaller
