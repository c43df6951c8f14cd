"""Sign-in of apps that were given an ID token by the provider itself, on the phone for instance: no browser takes part."""

import hashlib
from dataclasses import dataclass, field, replace

import structlog

from service.domain.accounts import users
from service.domain.accounts.users import OpenedSession
from service.domain.projects.lookup import Project
from service.domain.sessions.sessions import PROVIDER, Client
from service.domain.sign_in.flow import LIFETIME, SignIn, new_random
from service.domain.sign_in.linking import link_or_create
from service.errors import (
    EmailHasPassword,
    EmailOfPasswordUser,
    InvalidIdToken,
    NoEmail,
    NoEmailProvided,
    ProviderNotFound,
    SignInFailed,
    UserNotFound,
)
from service.schema.values import now
from service.storage.sign_in_states import SignInState

log = structlog.get_logger()

# Apart from the names of sign-ins by a browser, which are kept at the same place.
PREFIX = "nonce:"


@dataclass(frozen=True, slots=True)
class NativeStart:
    """The nonce for the ID token, which the app passes to the provider, and the id by which it continues."""

    flow_id: str
    nonce: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class NativeAnswer:
    """The app's answer; `name` is the person's name as the app knows it, if the token has none."""

    flow_id: str
    id_token: str = field(repr=False)
    name: str | None = None


async def begin_native(sign_in: SignIn, project: Project, provider: str) -> NativeStart:
    """Raises ProviderNotFound, ConfigurationMissing, and Invalid for a provider without ID tokens."""
    registration = sign_in.clients.find_native(project, provider)
    start = NativeStart(new_random(), new_random())
    state = SignInState(
        id=_digest(start.flow_id),
        project_id=project.id,
        client_binding=registration.client_binding,
        nonce=start.nonce,
        code_verifier="",
        browser=None,
        client_state=None,
        expires_at=now() + LIFETIME,
        provider=provider,
    )
    await sign_in.states.insert(state)
    return start


async def finish_native(sign_in: SignIn, project: Project, answer: NativeAnswer, client: Client) -> OpenedSession:
    """Logs in or creates the user. The flow is spent by this, with any outcome.

    Raises InvalidIdToken, also for an address that is not verified, NoEmail, EmailOfPasswordUser, what `users.sign_in`
    raises, and Unavailable where the provider's keys cannot be read.

    """
    begun = await sign_in.states.take(_digest(answer.flow_id), project_id=project.id, moment=now())
    try:
        return await _recognize(sign_in, project, answer, begun, client)
    except NoEmailProvided:
        raise NoEmail from None
    except EmailHasPassword:
        raise EmailOfPasswordUser from None
    except (SignInFailed, ProviderNotFound) as error:
        log.info("sign_in_failed", project=project.id, code=InvalidIdToken.code, reason=error.detail)
        raise InvalidIdToken from None


async def _recognize(
    sign_in: SignIn, project: Project, answer: NativeAnswer, begun: SignInState | None, client: Client
) -> OpenedSession:
    if begun is None:
        raise SignInFailed("the flow is unknown, used or expired")
    registration = sign_in.clients.find_native(project, begun.provider or "")
    if begun.client_binding != registration.client_binding:
        raise SignInFailed("the project's provider was changed in the meantime")
    async with sign_in.native_shares.take(registration.provider_name):
        profile = await sign_in.gateway.judge_token(registration, answer.id_token, begun.nonce)
    named = replace(profile, name=profile.name or answer.name)
    found = await link_or_create(project, registration, named, sign_in.accounts)
    user = await project.users.find_profile(found.id)
    if user is None:
        raise UserNotFound
    # A provider's keys may take seconds to read.
    await sign_in.accounts.sessions.projects.check_stored(project)
    recognized = replace(user, version=found.version)
    return await users.sign_in(sign_in.accounts, project, recognized, client, found.state, amr=PROVIDER)


def _digest(flow_id: str) -> str:
    return PREFIX + hashlib.sha256(flow_id.encode(errors="replace")).hexdigest()
