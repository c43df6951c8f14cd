"""The settings a project may have, with their types, defaults and limits. `docs/settings.md` lists each."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from service.bounds import MAX_FEED_PATTERNS, MAX_VIOLATIONS
from service.errors import InvalidConfiguration, Violation
from service.mail.servers import read_sender, read_server
from service.mail.texts import MailText, read_texts
from service.providers import is_allowed_url
from service.schema.event_patterns import check_pattern
from service.schema.values import check_name

ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:\d{1,5})?|https?://\[[0-9a-f:]+\](:\d{1,5})?|\*")
# Browsers have passkeys in secure contexts only; an Android app sends the hash of its certificate.
WEBAUTHN_ORIGIN = re.compile(
    r"https://[a-z0-9.-]+(:\d{1,5})?|http://([a-z0-9-]+\.)*localhost(:\d{1,5})?|android:apk-key-hash:[A-Za-z0-9_-]{43}"
)
# Claimed https pages, pages of this machine, and private schemes of apps (RFC 8252 section 7).
REDIRECT_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9!$%&()*+./:=?@_~\[\]-]+")
UNSAFE_SCHEMES = frozenset({"javascript", "data", "vbscript", "file", "blob", "about"})
# Fields that a claim of a provider is not kept in: the service's own, and the one that it makes.
TAKEN = frozenset({"id", "email", "password", "created_at", "updated_at", "oauth_id", "username"})
TIER_LIMITS = {"free": 1_000, "pro": 100_000}
# 30 days, the lifetime of the specification, in seconds.
LONGEST_TOKEN = 2_592_000
SECRET_SETTINGS = frozenset({"CAPTCHA_SECRET", "IDP_CLIENT_SECRET", "SMTP_URL"})


def _origins(value: object) -> object:
    return (
        tuple(part.strip().rstrip("/") for part in value.split(",") if part.strip())
        if isinstance(value, str)
        else value
    )


def _is_origin(value: str) -> str:
    if not ORIGIN.fullmatch(value):
        raise ValueError("must be origins such as https://app.example.com, separated by commas, or *")
    return value


def _is_webauthn_origin(value: str) -> str:
    if not WEBAUTHN_ORIGIN.fullmatch(value):
        raise ValueError("must be https origins, or http://localhost, or of Android apps, separated by commas")
    return value


def _is_provider_url(value: str) -> str:
    if not is_allowed_url(value):
        raise ValueError("must be an https URL, or an http URL of this machine")
    return value


# The requests that may ask for a CAPTCHA.
CaptchaFlow = Literal["signup", "login", "anonymous", "mail"]
CAPTCHA_FLOWS = get_args(CaptchaFlow)


def split_list(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _is_redirect_url(value: str) -> str:
    if not REDIRECT_URL.fullmatch(value) or value.partition(":")[0].lower() in UNSAFE_SCHEMES:
        raise ValueError(
            "must be addresses of pages or apps, such as https://app.example.com/done, separated by commas"
        )
    return value


def _is_smtp_url(value: SecretStr) -> SecretStr:
    read_server(value.get_secret_value())
    return value


def _is_sender(value: str) -> str:
    read_sender(value)
    return value


def _texts(value: object) -> object:
    """The JSON text of the setting, or its parsed value."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("must be JSON") from None
    read_texts(found)
    return found


def _is_profile_claim(value: str) -> str:
    name, _, claim = value.partition("=")
    if check_name(name) or name in TAKEN or (claim or name) != (claim or name).strip():
        raise ValueError("must be claims such as picture, or fields with claims such as avatar=picture, between commas")
    return value


def read_kept_claims(claims: Iterable[str]) -> dict[str, str]:
    """Field → claim: `avatar=picture` is the claim `picture` in the field `avatar`."""
    pairs = (each.partition("=") for each in claims)
    return {name: claim or name for name, _, claim in pairs}


ProfileClaim = Annotated[str, Field(max_length=256), AfterValidator(_is_profile_claim)]
CaptchaFlows = Annotated[tuple[CaptchaFlow, ...], BeforeValidator(split_list)]
ProfileClaims = Annotated[tuple[ProfileClaim, ...], Field(max_length=20), BeforeValidator(split_list)]
SmtpUrl = Annotated[SecretStr, AfterValidator(_is_smtp_url)]
Sender = Annotated[str, AfterValidator(_is_sender)]
RedirectUrl = Annotated[str, Field(max_length=2048), AfterValidator(_is_redirect_url)]
Url = Annotated[str, Field(pattern=r"^https?://[^\s#]+$", max_length=2048)]
ProviderUrl = Annotated[Url, AfterValidator(_is_provider_url)]
WebauthnOrigin = Annotated[str, AfterValidator(_is_webauthn_origin)]
Limit = Annotated[int, Field(ge=0, le=10**9)]
Role = Annotated[str, Field(pattern="^[a-z0-9_-]{1,64}$")]
# Settings whose names outside are those of environments: `client_id` is CLIENT_ID.
IN_CAPITALS = ConfigDict(
    alias_generator=str.upper, extra="forbid", frozen=True, validate_by_name=False, use_attribute_docstrings=True
)


class ProjectSettings(BaseModel):
    """One project's settings. Their names outside are in capitals: `password_min_length` is PASSWORD_MIN_LENGTH."""

    model_config = IN_CAPITALS

    idp_client_id: str | None = None
    """The client id that the identity provider issued."""
    idp_client_secret: SecretStr | None = None
    """The client secret; encrypted at rest, never shown again."""
    idp_redirect_url: Url | None = None
    """The callback URL registered with the provider."""
    idp_complete_url: Url | None = None
    """The page to which the browser returns in the end."""
    idp_issuer: ProviderUrl | None = None
    """The provider's issuer, if it is not the service's own; the default is the service's."""
    idp_authorize_url: ProviderUrl | None = None
    """The authorization endpoint of a provider without discovery; the default is the service's."""
    idp_token_url: ProviderUrl | None = None
    """The token endpoint of a provider without discovery; the default is the service's."""
    idp_userinfo_url: ProviderUrl | None = None
    """The userinfo endpoint of a provider without discovery; the default is the service's."""
    idp_scopes: str | None = None
    """The scopes asked for; the default is the service's."""
    idp_client_auth: Literal["client_secret_basic", "client_secret_post"] | None = None
    """The service's client authentication at the provider; the default is the one the provider publishes."""
    idp_bind_browser: bool = False
    """If true, only the browser that asked for a sign-in can finish it."""
    profile_claims: ProfileClaims = ()
    """Claims that a new user of a provider gets in `data`, such as `picture`, or `avatar=picture`, separated by commas.
    """
    linking: Literal["never", "verified"] = "never"
    """`verified`: a provider that is the authority for a proven address signs in to the account that has it."""
    password_min_length: int = Field(default=8, ge=1, le=72)
    """Characters a new password must have."""
    password_check: Literal["off", "common", "leaked"] = "off"  # noqa: S105 - a way of checking
    """`common`: refuses new passwords that are on a list of common ones, or are the address or the project's name.

    `leaked`: refuses those in published leaks as well, as the service at `PASSWORD_RANGE_URL` knows them.
    """
    tier: Literal["free", "pro", "enterprise"] = "free"
    """`free`: 1,000 requests a day; `pro`: 100,000; `enterprise`: `DAILY_LIMIT`. A new project has `DEFAULT_TIER`."""
    daily_limit: Limit = 0
    """Requests a day, which needs `TIER=enterprise`; 0 is no limit."""
    signup_limit: Limit = 10
    """Signups an hour from one address; 0 is no limit."""
    login_limit: Limit = 20
    """Logins an hour from one address; 0 is no limit."""
    login_failures: bool = False
    """If true, 10 wrong passwords and codes in 15 minutes, or 100 a day, close an account to more, from all addresses.
    """
    auth_limit: Limit = 1_000
    """Other requests to `/auth-collections` an hour; 0 is no limit."""
    file_limit: Limit = 10_000
    """Reads of files an hour from one address; 0 is no limit."""
    event_days: Annotated[int, Field(ge=0, le=400)] = 90
    """Days for which events are kept; with 0 none are recorded."""
    collection_limit: Limit = 200
    """Collections of the project; 0 is no limit."""
    email_verification: Literal["off", "optional", "required"] = "off"
    """`optional`: a signup is mailed a code to prove the address; `required`: without proof no sign-in by password
    succeeds.
    """
    usernames: Literal["off", "optional", "required"] = "off"
    """User names in `data.username`, which are unique and sign in as addresses do; `required`: a new user must have one."""
    anonymous: Literal["off", "on"] = "off"
    """`on`: pages can sign up users without an address, who can get an account later."""
    anonymous_limit: Limit = 30
    """Anonymous signups an hour from one address; 0 is no limit."""
    anonymous_days: Annotated[int, Field(ge=1, le=400)] = 30
    """Days without use after which an anonymous user is deleted."""
    mfa: Literal["off", "optional", "required"] = "optional"
    """Second factors: `off`: never asked for; `optional`: asked of users that have one; `required`: all users must have
    one.
    """
    mfa_roles: Annotated[tuple[Role, ...], BeforeValidator(split_list)] = ()
    """Roles, separated by commas, whose users must have a second factor; others need none then, and may have one."""
    webauthn_rp_id: Annotated[str, Field(max_length=253, pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$")] | None = None
    """The domain to which the passkeys of users belong, such as `example.com`; without it there are none."""
    webauthn_origins: Annotated[tuple[WebauthnOrigin, ...], BeforeValidator(_origins)] = ()
    """Origins whose pages and apps may ask for passkeys, separated by commas; the default is `https://` and the domain."""
    private_accounts: bool = False
    """If true, no answer reveals which addresses have accounts; needs `EMAIL_VERIFICATION` to be `required`."""
    mail_request_limit: Limit = 20
    """Requests an hour from one address that send a mail; 0 is no limit."""
    code_limit: Limit = 60
    """Codes and links an hour from one address; 0 is no limit."""
    mail_limit: Limit = 0
    """Mails a day of the project; 0 is no limit."""
    smtp_url: SmtpUrl | None = None
    """The project's own mail server, as `SMTP_URL` of the environment; encrypted at rest, never shown again."""
    mail_from: Sender | None = None
    """The sender of the project's mails; the default is the service's `MAIL_FROM`."""
    mail_delivery: Literal["send", "keep"] = "send"
    """`keep`: no mail is sent; all are kept for the mailbox. A copy of a project begins with it."""
    mail_texts: Annotated[dict[str, Any], BeforeValidator(_texts)] = Field(default_factory=dict)
    """The project's own texts of mails, as JSON: see the page on mail."""
    captcha: Literal["off", "altcha", "turnstile", "hcaptcha"] = "off"
    """The CAPTCHA that pages must solve; `altcha` is a proof of work, without a third party."""
    captcha_on: CaptchaFlows = ("signup",)
    """The requests that need one, separated by commas: `signup`, `login`, `anonymous` for signups without an address,
    and `mail` for requests that send a mail.
    """
    captcha_site_key: Annotated[str, Field(max_length=200)] | None = None
    """The site key of Turnstile or hCaptcha, which pages are shown."""
    captcha_secret: SecretStr | None = None
    """The secret of Turnstile or hCaptcha; encrypted at rest, never shown again."""
    captcha_hosts: Annotated[tuple[Annotated[str, Field(max_length=253)], ...], BeforeValidator(split_list)] = ()
    """The hosts, separated by commas, on whose pages a CAPTCHA of Turnstile or hCaptcha may be solved."""
    redirect_urls: Annotated[tuple[RedirectUrl, ...], BeforeValidator(split_list)] = ()
    """Pages and apps to which the links of mails may lead in the end, separated by commas; the first is the usual one."""
    token_issuer: Literal["service", "project"] = "service"  # noqa: S105 - a kind of issuer
    """The issuer that user tokens name. `service`: `BASE_URL`; `project`: a URL of the project, which has metadata.

    A new project has `project`.
    """
    access_token_lifetime: int = Field(default=LONGEST_TOKEN, ge=300, le=LONGEST_TOKEN)
    """Seconds a user token lives; below 2,592,000, which is 30 days, there are refresh tokens."""
    session_lifetime: int = Field(default=LONGEST_TOKEN, ge=300, le=34_560_000)
    """Seconds after which a session ends, however it is used."""
    session_idle: int = Field(default=0, ge=0, le=34_560_000)
    """Seconds without use after which a session cannot be refreshed; 0 is no limit."""
    refresh_grace: int = Field(default=30, ge=0, le=300)
    """Seconds for which a used refresh token is answered with its successor again."""
    refresh_limit: Limit = 60
    """Refreshes of a session an hour; 0 is no limit."""
    realtime_users: bool = False
    """If true, clients can follow the users that the rules let them read; MongoDB then keeps each user's earlier
    record.
    """
    act_as: bool = True
    """If false, operators of the deployment cannot act as users of the project."""
    feed: Annotated[
        tuple[Annotated[str, AfterValidator(check_pattern)], ...],
        Field(max_length=int(MAX_FEED_PATTERNS)),
        BeforeValidator(split_list),
    ] = ()
    """Events that the feed keeps for readers, separated by commas: `documents.orders.*`, `users.created`, or `*`."""
    feed_include: Literal["ids", "document", "previous"] = "document"
    """The records in an event of the feed: `ids` none, `document` the one afterwards, `previous` that before as well."""
    cors_origins: Annotated[tuple[Annotated[str, AfterValidator(_is_origin)], ...], BeforeValidator(_origins)] = ()
    """Origins whose pages may call the service, separated by commas; `*` is any."""

    @property
    def has_refresh_tokens(self) -> bool:
        return self.access_token_lifetime < LONGEST_TOKEN

    @property
    def has_own_issuer(self) -> bool:
        return self.token_issuer == "project"  # noqa: S105 - a kind of issuer

    @property
    def refuses_common(self) -> bool:
        return self.password_check != "off"  # noqa: S105 - a way of checking

    @property
    def refuses_leaked(self) -> bool:
        return self.password_check == "leaked"  # noqa: S105 - a way of checking

    @property
    def hides_accounts(self) -> bool:
        return self.private_accounts and self.email_verification == "required"

    @cached_property
    def texts(self) -> Mapping[str, Mapping[str, MailText]]:
        """`mail_texts`, by kind and locale."""
        return read_texts(self.mail_texts)

    @cached_property
    def requests_per_day(self) -> int:
        """The tier's daily limit; 0 is no limit."""
        return TIER_LIMITS.get(self.tier, self.daily_limit)

    @cached_property
    def kept_claims(self) -> Mapping[str, str]:
        """`profile_claims`, as field → claim."""
        return read_kept_claims(self.profile_claims)

    def describe_tier(self) -> str:
        """The tier and its daily limit, for people."""
        limit = f"{self.requests_per_day:,} requests a day" if self.requests_per_day else "no daily limit"
        return f"{self.tier} ({limit})"


def read_project_settings(values: Mapping[str, Any]) -> ProjectSettings:
    """The settings that `values` (by their names in capitals) give.

    Raises InvalidConfiguration with the path of each bad one in a body, and one line that names all.
    """
    try:
        return ProjectSettings.model_validate(leave_out_most_unknown(ProjectSettings, values))
    except ValidationError as error:
        raise InvalidConfiguration(list_faults(error, "a project setting")) from None


def leave_out_most_unknown(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with known names, and as many others as a refusal lists: each costs pydantic an error."""
    known = {name.upper() for name in model.model_fields}
    unknown = islice((name for name in values if name not in known), MAX_VIOLATIONS)
    return {name: values[name] for name in (*(known & values.keys()), *unknown)}


def list_faults(error: ValidationError, what: str) -> list[Violation]:
    """The faults of settings, at their paths in a body. `what` is the kind of the known names."""
    return [
        Violation(("body", "settings", each["loc"][0]), describe_fault(each, what), each["type"])
        for each in error.errors(include_url=False)
    ]


def describe_settings(given: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """Every setting: `{name, default, meaning}`, and its `value` where the settings that a project was `given` are known."""
    rows = []
    for field, info in ProjectSettings.model_fields.items():
        name, default = field.upper(), info.get_default(call_default_factory=True)
        row = {"name": name, "default": default, "meaning": " ".join((info.description or "").split())}
        rows.append(row if given is None else {**row, "value": given.get(name, default)})
    return rows


def describe_fault(error: ErrorDetails, what: str) -> str:
    """One line, which never has the value. `what` is what only known names are: "a project setting"."""
    name = error["loc"][0]
    if error["type"] == "extra_forbidden":
        return f"{name} is not {what}"
    return f"{name}: {error['msg'].removeprefix('Value error, ')}"


def stored(settings: ProjectSettings) -> dict[str, Any]:
    """The settings that were given, as plain values under their names in capitals; secrets in clear."""
    values = settings.model_dump(mode="json", by_alias=True, exclude_unset=True)
    secrets = {name: getattr(settings, name.lower()) for name in SECRET_SETTINGS & values.keys()}
    return values | {name: secret.get_secret_value() for name, secret in secrets.items() if secret is not None}
