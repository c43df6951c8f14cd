"""Sign-in through an identity provider, in two halves: before the browser goes to the provider and when it comes back."""

import hashlib
import hmac
import secrets
import traceback
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta

import structlog

from service.bounds import MAX_SIGN_INS, MAX_SIGN_INS_WAITING
from service.domain.accounts import Accounts
from service.domain.projects.lookup import Project
from service.domain.sessions.admission import decide
from service.domain.sessions.sessions import PROVIDER, Client
from service.domain.shares import Shares
from service.domain.sign_in.linking import identify, link_or_create
from service.domain.sign_in.registration import ProviderClients, check_page
from service.errors import (
    Busy,
    DuplicateValue,
    EnrolmentRequired,
    FactorMissing,
    FactorRequired,
    RejectedByValidator,
    ServiceError,
    SignInFailed,
    TooLarge,
    Unavailable,
    UserNotStored,
)
from service.providers import AuthorizationResponse, FlowSecrets, Gateway, Registration
from service.schema.values import now
from service.storage.identities import ExistingUser
from service.storage.sign_in_states import SignInState, SignInStates

log = structlog.get_logger()

LIFETIME = timedelta(minutes=10)
RANDOM_BYTES = 32
DATABASE_FAILURES = (Unavailable, DuplicateValue, RejectedByValidator, TooLarge)


@dataclass(frozen=True, slots=True)
class AuthorizationStart:
    """The URL to send the browser to, and the value that binds the sign-in to it, if the project wants that."""

    url: str = field(repr=False)
    browser: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SignInWish:
    """The parameters of a new sign-in. `browser` is the value with which an earlier one was bound.

    `provider` is the name of one of the project's, None that of the IDP settings. With a `challenge` (RFC 7636) the
    page `redirect_to` is given a code and no token. With a `user_id` no session begins: the identity is linked to that
    user.
    """

    provider: str | None = None
    client_state: str | None = None
    browser: str | None = field(default=None, repr=False)
    challenge: str | None = field(default=None, repr=False)
    redirect_to: str | None = None
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class Callback:
    """The parameters the browser brought back; each may be missing or forged.

    `provider` is the one whose redirect URL it is, `name` the person's name in its form.
    """

    state: str | None = field(default=None, repr=False)
    code: str | None = field(default=None, repr=False)
    issuer: str | None = None
    browser: str | None = field(default=None, repr=False)
    provider: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class SignInResult:
    """A token, a code that stands for one, or an error of specification section 7.2; and what the project's page sent, if any.

    `page` is where to go with it, None the project's usual one.
    """

    token: str | None = field(default=None, repr=False)
    error: str | None = None
    client_state: str | None = None
    code: str | None = field(default=None, repr=False)
    page: str | None = None


def make_shares() -> Shares:
    """A provider that hangs delays no sign-in by another one."""
    return Shares(MAX_SIGN_INS, waiting=MAX_SIGN_INS_WAITING)


@dataclass(frozen=True, slots=True)
class SignIn:
    """`begin` stores what `complete` needs, under a state that works once, for LIFETIME, for one project.

    Browsers and apps have shares of their own.
    """

    gateway: Gateway
    states: SignInStates
    clients: ProviderClients
    accounts: Accounts
    shares: Shares = field(default_factory=make_shares)
    native_shares: Shares = field(default_factory=make_shares)

    async def begin(self, project: Project, wish: SignInWish) -> AuthorizationStart:
        """Stores a sign-in and returns where it starts.

        Raises ProviderNotFound, ConfigurationMissing, Invalid for a page that is not one of the project's, Unavailable
        if the provider or the database does not answer, and Busy if too many wait for the provider.
        """
        registration = self.clients.find(project, wish.provider)
        if wish.redirect_to is not None:
            check_page(project, wish.redirect_to, "query" if wish.user_id is None else "body")
        proofs = FlowSecrets(state=new_random(), nonce=new_random(), code_verifier=new_random())
        # A browser keeps its value, so that two sign-ins at once in two tabs both work.
        browser = (wish.browser or new_random()) if project.settings.idp_bind_browser else None
        url = await self._authorize_url(registration, proofs)
        await self.states.insert(
            SignInState(
                id=_digest(proofs.state),
                project_id=project.id,
                client_binding=registration.client_binding,
                nonce=proofs.nonce,
                code_verifier=proofs.code_verifier,
                browser=_digest(browser) if browser else None,
                client_state=wish.client_state,
                expires_at=now() + LIFETIME,
                challenge=wish.challenge,
                redirect_to=wish.redirect_to,
                user_id=wish.user_id,
            )
        )
        return AuthorizationStart(url, browser)

    async def complete(self, project: Project, callback: Callback, client: Client) -> SignInResult:
        """The result for the project's page; every failure is one of the codes of specification section 7.2.

        A provider may take seconds to answer. Raises ProjectNotFound where the project was deleted meanwhile.
        """
        begun: SignInState | None = None
        try:
            begun = await self._take(project, callback.state)
            result = await self._finish(project, callback, begun=begun, client=client)
        except Exception as error:
            result = SignInResult(error=_reported(project, error))
        if begun is None:
            return result
        with suppress(Unavailable):
            await self.accounts.sessions.projects.check_stored(project)
        return replace(result, client_state=begun.client_state, page=begun.redirect_to)

    async def _take(self, project: Project, state: str | None) -> SignInState:
        begun = await self.states.take(_digest(state), project_id=project.id, moment=now()) if state else None
        if begun is None:
            raise SignInFailed("the state is missing, unknown, used or expired")
        return begun

    async def _finish(
        self, project: Project, callback: Callback, *, begun: SignInState, client: Client
    ) -> SignInResult:
        """Returns the token or code for the signed-in user. The state is spent by now, with any outcome."""
        registration = self.clients.find(project, callback.provider)
        provider = registration.provider_name
        if begun.client_binding != registration.client_binding:
            raise SignInFailed("the project's provider was changed in the meantime")
        if begun.browser and not hmac.compare_digest(begun.browser, _digest(callback.browser or "")):
            raise SignInFailed("another browser asked for this sign-in")
        if not callback.code:
            raise SignInFailed("the provider sent no code; most likely the user declined")
        proofs = FlowSecrets(state="", nonce=begun.nonce, code_verifier=begun.code_verifier)
        answer = AuthorizationResponse(callback.code, callback.issuer)
        try:
            async with self.shares.take(provider):
                profile = await self.gateway.profile(registration, proofs=proofs, answer=answer)
        except Busy:
            raise SignInFailed("too many sign-ins wait for the provider") from None
        if registration.quirks.posts_name and profile.name is None:
            profile = replace(profile, name=callback.name)
        if begun.user_id is not None:
            identity = identify(registration, profile)
            challenge = begun.challenge or ""
            return SignInResult(
                code=await self.accounts.sessions.exchange_codes.issue_for_link(
                    project, begun.user_id, identity, challenge
                )
            )
        user = await link_or_create(project, registration, profile, self.accounts)
        if begun.challenge is not None:
            # If the user needs a second factor, the exchange of the code asks for it.
            decide(project.settings, user.state, PROVIDER)
            challenge = begun.challenge
            code = await self.accounts.sessions.exchange_codes.issue(
                project, user.id, user.version, amr=PROVIDER, challenge=challenge
            )
            return SignInResult(code=code)
        return SignInResult(token=await self._token(project, user, client))

    async def _token(self, project: Project, user: ExistingUser, client: Client) -> str:
        """Raises FactorMissing where more is needed: a URL has no place to ask for it."""
        try:
            grant = await self.accounts.sessions.open(
                project, user.id, user.version, client, state=user.state, amr=PROVIDER
            )
        except (FactorRequired, EnrolmentRequired):
            raise FactorMissing("the account has a second factor, or must have one") from None
        return grant.access_token

    async def _authorize_url(self, registration: Registration, proofs: FlowSecrets) -> str:
        if self.gateway.knows(registration):
            return await self.gateway.authorize_url(registration, proofs)
        async with self.shares.take(registration.provider_name):
            return await self.gateway.authorize_url(registration, proofs)


def new_random() -> str:
    """256 random bits in 43 characters that stand in URLs and cookies as they are."""
    return secrets.token_urlsafe(RANDOM_BYTES)


def _digest(value: str) -> str:
    """The stored form of a random value: enough to recognise it, useless to a reader of the database."""
    return hashlib.sha256(value.encode(errors="replace")).hexdigest()


def _reported(project: Project, error: Exception) -> str:
    """The code of `error`, logged with its reason. Unforeseen messages may hold anything, so only their place is."""
    code = _code(error)
    if isinstance(error, ServiceError):
        log.info("sign_in_failed", project=project.id, code=code, reason=error.detail)
    else:
        place = "".join(traceback.format_tb(error.__traceback__))
        log.error("sign_in_crashed", project=project.id, code=code, cause=type(error).__name__, place=place)
    return code


def _code(error: Exception) -> str:
    if isinstance(error, SignInFailed):
        return error.code
    return UserNotStored.code if isinstance(error, DATABASE_FAILURES) else SignInFailed.code
