"""A user's own account over HTTP: specification sections 4.1 and 5.1."""

from functools import partial
from typing import cast

from starlette.requests import Request

from service.domain.access.caller import AnonymousCaller, KeyCaller, UserCaller
from service.domain.accounts import own_account, profile, users
from service.domain.accounts.own_account import PasswordChange
from service.domain.limits.policies import AUTH, LOGIN
from service.domain.sessions.access_tokens import public_keys as list_public_keys
from service.errors import (
    AccountDisabled,
    Busy,
    CaptchaFailed,
    EmailNotVerified,
    Invalid,
    ProjectNotFound,
    StepUpRequired,
    Unavailable,
    UploadLost,
    UsernameTaken,
    UserNotFound,
    VersionConflict,
    WrongCredentials,
    WrongPassword,
)
from service.services import Services
from service.web.accounts.bodies import (
    Login,
    OwnPasswordForm,
    Profile,
    ProfileChanges,
    ProfileForm,
    PublicKeys,
    SignedIn,
)
from service.web.accounts.views import (
    ENROLMENT_REQUIRED,
    EXAMPLE_LOGIN,
    EXAMPLE_OWN,
    SECOND_FACTORS,
    SIGNED_IN,
    profile_view,
    signed_in_view,
)
from service.web.auth.authenticate import Credential
from service.web.auth.captcha import require_captcha
from service.web.auth.client_address import read_client
from service.web.http.conditional import Unchanged, find_known, read_if_match
from service.web.http.forms import read_submission
from service.web.http.json_body import RequestWith, read_form
from service.web.http.locales import find_locale
from service.web.http.render import Json, NoContent
from service.web.openapi.declaration import ETAG, IF_MATCH, IF_NONE_MATCH, NOT_MODIFIED, ErrorExample, Success, Tag
from service.web.openapi.endpoint import endpoint
from service.web.openapi.shapes import EXAMPLE_TIME

EXAMPLE_PROFILE = {"profile": {**EXAMPLE_OWN, "updated_at": EXAMPLE_TIME}}
EXAMPLE_JWK = {
    "kty": "EC",
    "crv": "P-256",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    "kid": "demo.1a2b3c4d",
    "use": "sig",
    "alg": "ES256",
}

of_user = partial(endpoint, credential=Credential.USER_TOKEN, policy=AUTH, tag=Tag.ACCOUNTS)


@endpoint(
    "POST /auth-collections/login",
    credential=Credential.ANY_KEY,
    policy=LOGIN,
    tag=Tag.ACCOUNTS,
    description="By the address; or by the name of the user, where the project's USERNAMES are on.",
    body={"a user": EXAMPLE_LOGIN, "a name": {"username": "ann", "password": EXAMPLE_LOGIN["password"]}},
    answer=SIGNED_IN,
    errors=(CaptchaFailed, WrongCredentials, UserNotFound, *SECOND_FACTORS, AccountDisabled, EmailNotVerified, Busy),
)
async def login(request: RequestWith[Login], caller: KeyCaller, services: Services) -> Json[SignedIn]:
    """Authenticate a user."""
    form = await read_form(request)
    await require_captcha(request, caller, services, "login", form.captcha_token)
    if form.username is not None and caller.project.settings.usernames == "off":
        raise Invalid.one(
            ("body", "username"), "This project has no user names; log in by email", type_="extra_forbidden"
        )
    wanted = users.LoginAttempt(form.password, form.email or "", form.username)
    return Json(
        signed_in_view(await users.log_in(services.accounts, caller.project, wanted, read_client(request, services)))
    )


@of_user(
    "GET /auth-collections/user",
    parameters=(IF_NONE_MATCH,),
    answer=(Success("The user whose token it is", EXAMPLE_PROFILE, ETAG), NOT_MODIFIED),
)
async def read_profile(request: Request, caller: UserCaller, services: Services) -> Json[Profile] | Unchanged:
    """Get the authenticated user."""
    user = await profile.read_profile(services.accounts, caller)
    asks = "if-none-match" in request.headers and not user.has_signed_urls
    found = find_known(request.headers, user.revision) if asks else None
    return found or Json(profile_view(user), version=user.revision)


@of_user(
    "PUT /auth-collections/user",
    description="Sets the named fields of `data` and leaves the others.",
    while_acting=True,
    parameters=(IF_MATCH,),
    body={"two fields": {"name": "Ann B.", "age": 34}},
    answer=Success("The user afterwards", EXAMPLE_PROFILE, ETAG),
    errors=(UsernameTaken, UploadLost, ErrorExample(VersionConflict, '"v18"')),
)
async def update_profile(
    request: RequestWith[ProfileChanges | ProfileForm], caller: UserCaller, services: Services
) -> Json[Profile]:
    """Update the authenticated user's profile data."""
    accounts, revisions = services.accounts, read_if_match(request.headers)
    check = partial(profile.check_update, accounts, caller, revisions)
    uploads = await profile.find_uploads(accounts, caller.project)
    async with read_submission(request, services.files, caller.project, caller.user_id, check, uploads) as submission:
        user = await profile.change_profile(accounts, caller, submission, revisions=revisions)
        return Json(profile_view(user), version=user.revision)


@endpoint(
    "POST /auth-collections/user/password",
    credential=Credential.USER_TOKEN,
    policy=LOGIN,
    tag=Tag.ACCOUNTS,
    description="All sessions of the user end, and the answer has a new one. Who has no password yet leaves `current_password` "
    "out, and must have signed in within ten minutes. Counted as a login.",
    body={
        "a password": {"current_password": EXAMPLE_LOGIN["password"], "password": "correct horse battery"},
        "the first one": {"password": "correct horse battery"},
    },
    answer=SIGNED_IN,
    errors=(WrongPassword, ENROLMENT_REQUIRED, EmailNotVerified, StepUpRequired, Busy),
)
async def change_password(
    request: RequestWith[OwnPasswordForm], caller: UserCaller, services: Services
) -> Json[SignedIn]:
    """Choose another password."""
    form = await read_form(request)
    change = PasswordChange(form.password, form.current_password, find_locale(request))
    signed_in = await own_account.replace_password(services.accounts, caller, change, read_client(request, services))
    return Json(signed_in_view(signed_in))


@endpoint(
    "DELETE /auth-collections/user",
    credential=Credential.RECENT_USER,
    policy=AUTH,
    tag=Tag.ACCOUNTS,
    description="For ten minutes after a sign-in or a step-up.",
    answer=Success("The user is gone, with the user's sessions, mails and files"),
)
async def delete_account(request: Request, caller: UserCaller, services: Services) -> NoContent:
    """Delete the authenticated user's account."""
    await own_account.delete_own(services.accounts, caller, read_client(request, services))
    return NoContent()


@endpoint(
    "GET /auth-collections/jwks/{project_id}",
    credential=Credential.PROJECT_IN_PATH,
    tag=Tag.ACCOUNTS,
    description="A JWK Set (RFC 7517), for those who verify tokens themselves.",
    answer=Success(
        "The public keys", {"one key": {"keys": [EXAMPLE_JWK]}}, {"Cache-Control": "How long the answer may be kept"}
    ),
    errors=(ProjectNotFound, Invalid, Unavailable),
)
async def public_keys(request: Request, caller: AnonymousCaller, services: Services) -> Json[PublicKeys]:
    """The public keys with which anyone can verify this project's user tokens."""
    view = cast(PublicKeys, list_public_keys(caller.project))
    return Json(view, {"cache-control": "public, max-age=300"})
