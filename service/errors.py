"""Every error of the service, each with its HTTP status and its stable code. Rendered in one place: web/http/render.

ServiceError
├── BadRequest 400 ── EmailTaken, NoEmail, ConfigurationMissing, InvalidCode
├── Unauthorized 401 ── InvalidApiKey, InvalidToken, InvalidRefreshToken, InvalidIdToken, WrongPassword, WrongCredentials,
│                     FactorRequired, InvalidFactor, InvalidPasskey, OperatorRequired
├── Forbidden 403 ── SecretKeyRequired, AccountDisabled, EmailNotVerified, EnrolmentRequired, FactorsOff, StepUpRequired,
│                  PermissionRequired, CrossOrigin, HttpsRequired, ConfirmationRequired, ScopeExceeded,
│                  NotWhileActing, ActingOff, AnonymousOff
├── NotFound 404 ── UserNotFound, SessionNotFound, FactorNotFound, CollectionNotFound, DocumentNotFound, FileNotFound,
│                ProjectNotFound, KeyNotFound, ProviderNotFound, IdentityNotFound, AggregationNotFound,
│                MailNotFound, OperatorNotFound, InvitationNotFound, TokenNotFound, ViewNotFound
├── Conflict 409 ── ConditionFailed, CollectionExists, CollectionLimit, KeyLimit, IndexLimit, DuplicateValue, SchemaChanging,
│                  SchemaConflict, RuleTestsFailed, RuleConflict, AggregationLimit, AggregationConflict,
│                  CountChanged, EmailInUse, EmailOfPasswordUser, IdentityInUse, IdentityLimit, LastSignInMethod,
│                  FactorExists, FactorLimit, NoFactor, IdempotencyKeyUsed, LastOwner, OperatorExists, OperatorLimit,
│                  TokenLimit, ViewLimit, FactorMandatory, NotAnonymous, UsernameTaken
├── CursorExpired 410, VersionConflict 412
├── TooLarge 413, UnsupportedMedia 415, RangeNotSatisfiable 416
├── NotLive 422, UpgradeRequired 426
├── Invalid 422 ── IdempotencyKeyReused, AggregationTooLarge, NotInFeed; RejectedByValidator 422 (translated before it is sent)
├── LimitExceeded 429 ── TooManySockets, TooManySubscriptions, TooManyReaders
├── Unavailable 503 ── Busy, QueryTooSlow, UploadLost, NotReady ── NewerData
├── SignInFailed 302 ── InvalidAuthorizationCode, ProfileNotFetched, NoEmailProvided, EmailHasPassword, UserNotStored,
│                    FactorMissing
└── ConfigurationError (the command line and the start) ── InvalidConfiguration 422
    └── BackupError 422 ── BackupDamaged, BackupForeign, BackupTooNew, RestoreInvalid; ProjectBusy 409 ── CatalogChanged;
                           DigestMismatch 503, HistoryLost 503, StoreFull 507
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

Location = tuple[str | int, ...]
# Seconds since a user's last sign-in after which sensitive changes of the account need another one.
STEP_UP_SECONDS = 600
# Fields that one sentence names.
MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: `loc` begins with body, query, path or header; `msg` says what to change; `type` is stable."""

    loc: Location
    msg: str
    type: str

    def as_dict(self) -> dict[str, Any]:
        return {"loc": list(self.loc), "msg": self.msg, "type": self.type}

    def under(self, *prefix: str | int) -> "Violation":
        """The same violation seen from further out: `prefix` is put before its `loc`."""
        return Violation((*prefix, *self.loc), self.msg, self.type)


class ServiceError(Exception):
    """Base of all; a subclass carries `status`, `code` and the `detail` a client is shown.

    `operation` is the position of the operation of a batch that failed.
    """

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    detail: str = "The service failed to answer this request"
    operation: int | None = None

    def __init__(self, detail: str | None = None, *, headers: Mapping[str, str] | None = None) -> None:
        self.detail = detail if detail is not None else type(self).detail
        self.headers = dict(headers or {})
        super().__init__(self.detail)

    def body(self) -> dict[str, Any]:
        """The JSON object a client receives."""
        return {"detail": self.detail, "code": self.code}

    def at(self, operation: int) -> Self:
        """The same error of an operation of a batch. A new object, for other waiters may be given the same one."""
        error = type(self).__new__(type(self))
        error.__dict__.update(self.__dict__, operation=operation)
        error.args, error.__cause__ = self.args, self.__cause__
        return error

    def kept(self) -> Self:
        """The same error as a value to keep: another object, without the frames that raised it and all they hold."""
        error = self.at(self.operation or 0)
        error.operation, error.__cause__ = self.operation, None
        return error


class BadRequest(ServiceError):
    """The request cannot be served as it is."""

    status = 400
    code = "bad_request"
    detail = "Bad request"


class EmailTaken(BadRequest):
    """A signup with an address that has an account."""

    code = "email_already_registered"
    detail = "Email already registered"


class CaptchaFailed(BadRequest):
    """A request without the solution of a CAPTCHA, where the project asks for one."""

    code = "captcha_failed"
    detail = "Solve the CAPTCHA again, and send its token as X-Captcha-Token"


class NoEmail(BadRequest):
    """An ID token without an e-mail address."""

    code = "no_email_provided"
    detail = "The provider gives no e-mail address"


class ConfigurationMissing(BadRequest):
    """A project setting that this endpoint needs is not set; `detail` names it."""

    code = "configuration_missing"


class InvalidCode(BadRequest):
    """A code or a link of a mail that is wrong, spent, too old, or for something else."""

    code = "invalid_code"
    detail = "Invalid or expired code"


class Unauthorized(ServiceError):
    """No credential that this endpoint accepts."""

    status = 401
    code = "unauthorized"
    detail = "Unauthorized"


class InvalidApiKey(Unauthorized):
    """`x-api-key` is missing, unknown, revoked or sent twice."""

    code = "invalid_api_key"
    detail = "Invalid API key"


class InvalidToken(Unauthorized):
    """The user token is missing, not genuine or expired, or its user is gone."""

    code = "invalid_token"
    detail = "Invalid token or token expired"

    def __init__(self) -> None:
        # RFC 6750 section 3: a refused bearer token is answered with this challenge.
        super().__init__(headers={"www-authenticate": 'Bearer error="invalid_token"'})


class InvalidRefreshToken(Unauthorized):
    """The refresh token is not genuine, was used before, or its session has ended."""

    code = "invalid_refresh_token"
    detail = "Invalid refresh token"


class InvalidIdToken(Unauthorized):
    """The ID token is not the provider's, for this project, of this very sign-in; or that was finished already."""

    code = "invalid_id_token"
    detail = "Invalid ID token"


class WrongPassword(Unauthorized):
    """A signed-in user sent a wrong password."""

    code = "invalid_password"
    detail = "Invalid password"


class WrongCredentials(Unauthorized):
    """A login with a wrong password."""

    code = "invalid_credentials"
    detail = "Invalid email or password"


class FactorRequired(Unauthorized):
    """The first factor was right and the account has a second one: the body's `flow_id` continues the sign-in.

    `methods` are those of `totp`, `passkey` and `recovery_code` that the user has; the flow lives `expires_in` seconds.
    """

    code = "mfa_required"
    detail = "Second factor required"

    def __init__(self, flow_id: str, methods: Sequence[str], expires_in: int) -> None:
        self.flow_id, self.methods, self.expires_in = flow_id, tuple(methods), expires_in
        super().__init__()

    def body(self) -> dict[str, Any]:
        more = {"flow_id": self.flow_id, "methods": list(self.methods), "expires_in": self.expires_in}
        return super().body() | more


class InvalidFactor(Unauthorized):
    """A second factor that is wrong, or was used before; or its flow is unknown, spent or too old."""

    code = "invalid_factor"
    detail = "Invalid second factor"


class InvalidPasskey(Unauthorized):
    """A sign-in by a passkey that is unknown, or was used wrongly; or its flow is unknown, spent or too old."""

    code = "invalid_passkey"
    detail = "Invalid passkey"


class OperatorRequired(Unauthorized):
    """No session or token of an operator, or a session whose `stage` opens nothing but the next step of its sign-in.

    `has_operators` is false where the first operator is still to be made.
    """

    code = "operator_required"
    detail = "Sign in as an operator"

    def __init__(self, *, has_operators: bool | None = None, stage: str | None = None) -> None:
        self.more = {"has_operators": has_operators} if stage is None else {"stage": stage}
        super().__init__()

    def body(self) -> dict[str, Any]:
        return super().body() | {name: value for name, value in self.more.items() if value is not None}


class Forbidden(ServiceError):
    """The caller is known, and may not do this."""

    status = 403
    code = "forbidden"
    detail = "The project's rules do not allow this"


class SecretKeyRequired(Forbidden):
    """A publishable key where the secret key is needed, which belongs on servers only."""

    code = "secret_key_required"
    detail = "This takes the project's secret key, which belongs on servers only"


class AccountDisabled(Forbidden):
    """A sign-in, with the right credential, to an account that the project's administrators disabled."""

    code = "account_disabled"
    detail = "Account disabled"


class EmailNotVerified(Forbidden):
    """A sign-in, with the right credential, to an account whose address must be proven first: `EMAIL_VERIFICATION`."""

    code = "email_not_verified"
    detail = "Email not verified"


class EnrolmentRequired(Forbidden):
    """The user must have a second factor, and has none: with the body's `flow_id` one can be added."""

    code = "mfa_enrolment_required"
    detail = "A second factor must be added first"

    def __init__(self, flow_id: str) -> None:
        self.flow_id = flow_id
        super().__init__()

    def body(self) -> dict[str, Any]:
        return super().body() | {"flow_id": self.flow_id}


class FactorsOff(Forbidden):
    """The project has no second factors: its setting `MFA` is `off`."""

    code = "mfa_off"
    detail = "This project has no second factors"


class AnonymousOff(Forbidden):
    """The project has no anonymous users (ANONYMOUS)."""

    code = "anonymous_off"
    detail = "This project has no anonymous users; its setting ANONYMOUS decides that"


class StepUpRequired(Forbidden):
    """The user was recognized too long ago for this, or without the second factor that the account has.

    `/auth-collections/user/step-up` gives a token with which it goes.
    """

    code = "step_up_required"
    detail = "Sign in again to do this"

    def __init__(self) -> None:
        # RFC 9470 section 3, but for the status: clients throw a token away at 401.
        super().__init__(
            headers={
                "www-authenticate": f'Bearer error="insufficient_user_authentication", max_age="{STEP_UP_SECONDS}"'
            }
        )


class PermissionRequired(Forbidden):
    """The operator's roles, or the scopes of the token, lack the permission that `needs` names: `shop:config:write`."""

    def __init__(self, needs: str | None, detail: str | None = None) -> None:
        self.needs = needs
        super().__init__(detail or f"This needs the permission {needs}")

    def body(self) -> dict[str, Any]:
        return super().body() | ({} if self.needs is None else {"needs": self.needs})


class CrossOrigin(Forbidden):
    """A request with an operator's cookie from a page of another origin, or from a client that names none."""

    code = "cross_origin"
    detail = "A page of another origin cannot use an operator's session"


class HttpsRequired(Forbidden):
    """An operator signs in over plain http from another machine."""

    code = "https_required"
    detail = (
        "Operators sign in over https, or on the service's own machine: serve it behind https, or use an ssh tunnel, "
        "such as `ssh -L 8000:127.0.0.1:8000 <host>`, and open http://127.0.0.1:8000"
    )


class ConfirmationRequired(Forbidden):
    """The session must be confirmed with the password, and the factor, within the last 10 minutes.

    A token must name the area itself in its scopes.
    """

    code = "confirmation_required"
    detail = "Confirm your session first, or name this area in the token's scopes"


class NotWhileActing(Forbidden):
    """An operator who acts as a user may not change the account, nor do what needs a recent sign-in."""

    code = "not_while_acting"
    detail = "An operator who acts as a user cannot do this"


class ActingOff(Forbidden):
    """The project's `ACT_AS` is false: operators cannot act as its users."""

    code = "acting_off"
    detail = "Operators cannot act as users of this project; its ACT_AS decides that"


class ScopeExceeded(Forbidden):
    """A token would have a scope that the roles of its maker do not grant."""

    code = "scope_exceeded"
    detail = "Your roles do not grant each of these scopes"


class NotFound(ServiceError):
    """No such URL."""

    status = 404
    code = "not_found"
    detail = "Not found"


class UserNotFound(NotFound):
    """A login with an address that has no account."""

    code = "user_not_found"
    detail = "User not found"


class SessionNotFound(NotFound):
    """The user has no such session."""

    code = "session_not_found"
    detail = "Session not found"


class FactorNotFound(NotFound):
    """The user has no such second factor."""

    code = "factor_not_found"
    detail = "Factor not found"


class CollectionNotFound(NotFound):
    """No such collection in this project."""

    code = "collection_not_found"
    detail = "Collection not found"


class DocumentNotFound(NotFound):
    """No such document in this collection."""

    code = "document_not_found"
    detail = "Document not found"


class FileNotFound(NotFound):
    """No such file."""

    code = "file_not_found"
    detail = "File not found"


class ProjectNotFound(NotFound):
    """No such project."""

    code = "project_not_found"
    detail = "Project not found"


class CaptchaOff(NotFound):
    """A challenge that the project does not ask for."""

    code = "captcha_off"
    detail = "The project's setting CAPTCHA is not altcha, or CAPTCHA_ON does not name this flow"


class IssuerOff(NotFound):
    """Metadata of a project whose tokens name the service as their issuer."""

    code = "issuer_off"
    detail = "The project's setting TOKEN_ISSUER is not project"


class KeyNotFound(NotFound):
    """The project has no API key of this id."""

    code = "key_not_found"
    detail = "Key not found"


class ProviderNotFound(NotFound):
    """The project has no identity provider of that name."""

    code = "provider_not_found"
    detail = "Provider not found"


class IdentityNotFound(NotFound):
    """No identity of this user has this id."""

    code = "identity_not_found"
    detail = "Identity not found"


class AggregationNotFound(NotFound):
    """No such saved aggregation in this project, or none that its definition lets this caller run."""

    code = "aggregation_not_found"
    detail = "Aggregation not found"


class MailNotFound(NotFound):
    """No such mail in this project that could be sent again."""

    code = "mail_not_found"
    detail = "Mail not found"


class OperatorNotFound(NotFound):
    """There is no operator with this id."""

    code = "operator_not_found"
    detail = "Operator not found"


class InvitationNotFound(NotFound):
    """The invitation is unknown, was used, or is too old."""

    code = "invitation_not_found"
    detail = "Invitation not found; it may have been used, or be too old"


class TokenNotFound(NotFound):
    """The operator has no token with this id."""

    code = "token_not_found"
    detail = "Token not found"


class ViewNotFound(NotFound):
    """The project has no view with this id, or it is another operator's own."""

    code = "view_not_found"
    detail = "There is no such view"


class Conflict(ServiceError):
    """The change contradicts the stored state."""

    status = 409
    code = "conflict"
    detail = "Conflict"


class ConditionFailed(Conflict):
    """The `where` of a change does not hold of the document."""

    code = "condition_failed"
    detail = "The document does not satisfy the conditions; nothing was changed"


class CollectionExists(Conflict):
    """The name is taken."""

    code = "collection_already_exists"
    detail = "Collection already exists"


class DuplicateValue(Conflict):
    """Another record has these values of fields that are unique, alone or together; `detail` names those not `hidden`.

    `fields` are the dotted paths of the index, as in `data.email`.
    """

    code = "duplicate_value"

    def __init__(self, *fields: str, hidden: Collection[str] = ()) -> None:
        self.fields = fields
        names = [name for field in fields if (name := field.removeprefix("data.")) not in hidden]
        values = "these values" if len(names) > 1 else "this value"
        super().__init__(f"Another record already has {' of '.join(filter(None, (values, ' and '.join(names))))}")

    def without(self, hidden: Collection[str]) -> "DuplicateValue":
        """The same for a reader from whom fields are hidden."""
        error = DuplicateValue(*self.fields, hidden=hidden)
        error.operation = self.operation
        return error

    def is_of(self, name: str) -> bool:
        """True if the field `name` of `data` is unique by itself, and its value is taken."""
        return self.fields == (f"data.{name}",)


class UsernameTaken(Conflict):
    """Another user has this name, or one that differs by case, width or accents alone."""

    code = "username_taken"
    detail = "Another user has this name"


class EmailInUse(Conflict):
    """An account would get an address that another one has. At signup, the specification has a 400 for it."""

    code = EmailTaken.code
    detail = EmailTaken.detail


class NotAnonymous(Conflict):
    """The user has an account already."""

    code = "not_anonymous"
    detail = "This user has an account already"


class IdentityInUse(Conflict):
    """The identity that a user wants to add is linked to another account."""

    code = "identity_in_use"
    detail = "Somebody else signs in with this"


class IdentityLimit(Conflict):
    """A user has as many identities as one may have."""

    code = "identity_limit"
    detail = "There are too many identities; remove one first"


class LastSignInMethod(Conflict):
    """Without it the user could not sign in any more: there is no password, no other identity and no other passkey."""

    code = "last_sign_in_method"
    detail = "This is the last way to sign in"


class EmailOfPasswordUser(Conflict):
    """An ID token with the address of a user with a password."""

    code = "email_already_registered_with_password"
    detail = "The e-mail address belongs to a user with a password"


class FactorExists(Conflict):
    """The user has a second factor of this type already."""

    code = "factor_exists"
    detail = "There is a factor of this type already"


class FactorLimit(Conflict):
    """The user has as many passkeys as there may be."""

    code = "factor_limit"
    detail = "There are as many passkeys as there may be"


class NoFactor(Conflict):
    """Recovery codes are for users who have a second factor."""

    code = "no_factor"
    detail = "Add a second factor first"


class CollectionLimit(Conflict):
    """The project has as many collections as its setting `COLLECTION_LIMIT` allows."""

    code = "collection_limit"

    def __init__(self, most: int) -> None:
        super().__init__(f"The project may have at most {most} collections")


class KeyLimit(Conflict):
    """The project has as many API keys as it may."""

    code = "key_limit"

    def __init__(self, most: int) -> None:
        super().__init__(f"A project has at most {most} keys; revoke an unused one")


class IndexLimit(Conflict):
    """The schemas and rules of the project ask for more indexes together than one project, or one collection, may have."""

    code = "index_limit"

    def __init__(self, total: int, most: int) -> None:
        super().__init__(
            f"The schemas and rules of the project would ask for {total} indexes; together they may ask for {most}"
        )


class CollectionIndexLimit(IndexLimit):
    """The schema of a collection and the rules for it ask for more indexes together than a collection may have."""

    def __init__(self, most: int) -> None:
        Conflict.__init__(self, f"The schema of a collection and the rules for it may ask for {most} indexes together")


class SchemaChanging(Conflict):
    """Another change of this schema is under way; try again."""

    code = "schema_changing"
    detail = "Another change of this collection is under way; try again"


class SchemaConflict(Conflict):
    """Documents or users that are there break a new schema. `conflicts` counts them and names the first, without values:

    {"total": int, "documents": [{"id", "errors": [{loc, msg, type}]}]}

    `removal` is a sentence on the write that removes the values of removed fields, or empty.
    """

    code = "schema_conflict"

    def __init__(self, conflicts: Mapping[str, Any], removal: str = "", *, of_users: bool = False) -> None:
        self.conflicts = conflicts
        self.record = "user" if of_users else "document"
        count = conflicts["total"]
        broken = f"{count} {self.record}{' breaks' if count == 1 else 's break'} the new schema; nothing was changed"
        super().__init__(f"{broken}. {removal}" if removal else broken)

    def body(self) -> dict[str, Any]:
        return {**super().body(), "conflicts": self.conflicts}


class RuleTestsFailed(Conflict):
    """Tests that are stored with the rules say otherwise. `failed` is [{"name", "expected", "got"}]."""

    code = "rule_tests_failed"

    def __init__(self, failed: Sequence[Mapping[str, str]]) -> None:
        self.failed = list(failed)
        count = len(self.failed)
        super().__init__(f"{count} stored test{' fails' if count == 1 else 's fail'}; nothing was changed")

    def body(self) -> dict[str, Any]:
        return {**super().body(), "failed": self.failed}


class RuleConflict(Conflict):
    """A change of a schema, or the end of a collection, that the rules in force do not let pass.

    `rules` is [{loc, msg, type}], as saving these rules after the change would be refused; `omitted` more were found.
    """

    code = "rule_conflict"

    def __init__(self, violations: Sequence[Violation], *, omitted: int = 0) -> None:
        self.rules = [violation.as_dict() for violation in violations]
        first, more = violations[0], len(violations) - 1 + omitted
        place = ".".join(map(str, first.loc[1:]))
        others = f", and {more} more" if more else ""
        super().__init__(f"The rules need what this would change, at {place}{others}; nothing was changed")

    def body(self) -> dict[str, Any]:
        return {**super().body(), "rules": self.rules}


class AggregationLimit(Conflict):
    """The project has as many saved aggregations as it may have."""

    code = "aggregation_limit"

    def __init__(self, most: int) -> None:
        super().__init__(f"The project may have at most {most} saved aggregations")


class AggregationConflict(Conflict):
    """A saved aggregation names what its collection does not have any more, or what its caller may not read.

    `errors` is [{loc, msg, type}], for the secret key.
    """

    code = "aggregation_conflict"
    detail = "This aggregation names what is not there, or not to be read, any more; save it anew"

    def __init__(self, violations: Sequence[Violation]) -> None:
        self.errors = [violation.as_dict() for violation in violations]
        super().__init__()

    def body(self) -> dict[str, Any]:
        return {**super().body(), "errors": self.errors}


class CountChanged(Conflict):
    """A bulk write's conditions find another number of documents than was expected: `matched` of them."""

    code = "count_changed"

    def __init__(self, matched: int) -> None:
        self.matched = matched
        super().__init__(f"There are {matched} such documents; nothing was changed")

    def body(self) -> dict[str, Any]:
        return {**super().body(), "matched": self.matched}


class LastOwner(Conflict):
    """Without this operator the deployment would have no owner that is not disabled."""

    code = "last_owner"
    detail = "A deployment has at least one owner; make another one first"


class OperatorExists(Conflict):
    """An operator has this address."""

    code = "operator_exists"
    detail = "An operator has this address"


class OperatorLimit(Conflict):
    """The deployment has as many operators, or open invitations, as there may be."""

    code = "operator_limit"

    def __init__(self, most: int, of: str = "operators") -> None:
        super().__init__(f"There may be at most {most} {of}; remove one first")


class TokenLimit(Conflict):
    """The operator has as many tokens in force as there may be."""

    code = "token_limit"

    def __init__(self, most: int) -> None:
        super().__init__(f"An operator may have at most {most} tokens; revoke one first")


class ViewLimit(Conflict):
    """The project has 200 views already."""

    code = "view_limit"
    detail = "The project has 200 views already; delete one first"


class FactorMandatory(Conflict):
    """`OPERATOR_MFA` is `required`: an operator cannot be without a second factor."""

    code = "factor_required"
    detail = "OPERATOR_MFA requires a second factor; set up another authenticator app instead"


class CursorExpired(ServiceError):
    """The events after the cursor are no longer all in the feed; `first` is the earliest cursor that is good."""

    status = 410
    code = "cursor_expired"
    detail = "The feed keeps no longer all events after this cursor; compare by a list, and go on with `first`"

    def __init__(self, first: str) -> None:
        self.first = first
        super().__init__()

    def body(self) -> dict[str, Any]:
        return super().body() | {"first": self.first}


class VersionConflict(ServiceError):
    """The stored version is not the one in the client's condition (RFC 9110 section 13.1.1)."""

    status = 412
    code = "version_conflict"
    detail = "This was changed meanwhile; read it again"

    def __init__(self, etag: str) -> None:
        super().__init__(headers={"etag": etag})


class TooLarge(ServiceError):
    """The body, a file, or the record it would make is too large."""

    status = 413
    code = "too_large"
    detail = "The request body is too large"


class UnsupportedMedia(ServiceError):
    """The body or a file is of a type that is not accepted."""

    status = 415
    code = "unsupported_media_type"
    detail = "Unsupported media type"


class RangeNotSatisfiable(ServiceError):
    """No byte of the one range that was asked for is there; the answer says how many bytes there are."""

    status = 416
    code = "range_not_satisfiable"
    detail = "The file has no such bytes"

    def __init__(self, length: int) -> None:
        super().__init__(headers={"content-range": f"bytes */{length}"})


class Invalid(ServiceError):
    """The input is malformed; `detail` lists what was found.

    `violations` are the rules found broken, at least one; `omitted` more were counted and not looked at.
    """

    status = 422
    code = "validation_error"
    detail = "Validation failed"

    def __init__(self, violations: Iterable[Violation], *, omitted: int = 0) -> None:
        self.violations = list(violations)
        self.omitted = omitted
        super().__init__()

    @classmethod
    def one(cls, loc: Location, msg: str, *, type_: str = "value_error") -> "Invalid":
        return cls([Violation(loc, msg, type_)])

    def body(self) -> dict[str, Any]:
        return {"detail": [violation.as_dict() for violation in self.violations], "code": self.code}


class UpgradeRequired(ServiceError):
    """A plain request where a WebSocket is opened."""

    status = 426
    code = "upgrade_required"
    detail = "Open a WebSocket here"

    def __init__(self) -> None:
        # RFC 9110 section 15.5.22.
        super().__init__(headers={"upgrade": "websocket", "connection": "upgrade"})


class NotLive(ServiceError):
    """The query of a subscription can be listed, but not followed; sent over a socket, with the reason in `detail`."""

    status = 422
    code = "not_live"
    detail = "This cannot be followed live"


class ListNotLive(Invalid):
    """A list that was asked for as a stream of events cannot be followed; the reason is in `detail`."""

    code = "not_live"

    def __init__(self, reason: str = NotLive.detail) -> None:
        super().__init__([Violation(("query",), reason, "not_live")])


class IdempotencyKeyReused(Invalid):
    """The `Idempotency-Key` was sent before, within 24 hours, with another method, path, query or body."""

    code = "idempotency_key_reused"

    def __init__(self) -> None:
        msg = "This key was sent with another request; make a new key for each write, and send it again only with the same"
        super().__init__([Violation(("header", "idempotency-key"), msg, "idempotency_key_reused")])


class IdempotencyKeyUsed(Conflict):
    """A signup is sent again under its `Idempotency-Key`, and its first session could not be good any more."""

    code = "idempotency_key_used"
    detail = "This key made an account that was deleted or changed since; log in, or sign up under a new key"


class AggregationTooLarge(Invalid):
    """The groups do not fit into memory, the rows not into one answer, or a value not into a row."""

    code = "aggregation_too_large"

    def __init__(self, place: Location = ("body",), msg: str = "") -> None:
        msg = msg or "The groups take more memory than an aggregation may have; make fewer, or narrow it with where"
        super().__init__([Violation(place, msg, "aggregation_too_large")])


def page_too_large(reason: str) -> Invalid:
    """The error for a list whose answer is larger than its bounds; `reason` names the bound, without its full stop."""
    return Invalid.one(("query", "limit"), f"{reason}; ask for fewer", type_="page_too_large")


class LimitExceeded(ServiceError):
    """Too many requests; `Retry-After` says when to come back."""

    status = 429
    code = "rate_limit_exceeded"
    detail = "Too many requests"


class TooManySockets(LimitExceeded):
    """The user has 10 sockets and event streams to this worker already."""

    detail = "This user has 10 sockets already; close one first"


class TooManyReaders(LimitExceeded):
    """Eight readers of the project wait for the feed, or follow it, in this worker already."""

    code = "too_many_readers"
    detail = "8 readers of this project wait for the feed already; end one first, or ask without `wait`"

    def __init__(self) -> None:
        super().__init__(headers={"retry-after": "1"})


class TooManySubscriptions(LimitExceeded):
    """The socket has 100 subscriptions, or its filters or those of the worker exceed their bytes."""

    code = "too_many_subscriptions"


class Unavailable(ServiceError):
    """The database did not answer in time. A write may or may not have happened, so it is never reported as done."""

    status = 503
    code = "unavailable"
    detail = "The service is temporarily unavailable; try again"
    # The fault an operator must mend, for the log and the command line; no client sees it.
    cause: str | None = None

    def __init__(self, detail: str | None = None, *, retry_after: int = 1) -> None:
        super().__init__(detail, headers={"retry-after": str(retry_after)})


class NotReady(Unavailable):
    """Something must be mended before requests can be served."""

    def __init__(self, cause: str) -> None:
        super().__init__()
        self.cause = cause


class NewerData(NotReady):
    """A newer version of the service has written the data, so this one reads at most; run the newer version."""

    code = "newer_data"
    detail = "A newer version of the service has written this data; ask the operator to run that version"

    def __init__(self, what: str) -> None:
        super().__init__(f"a newer version of the service has written {what}; run that version")


class Busy(Unavailable):
    """Too many requests wait for the same thing; come back after `Retry-After` seconds."""

    code = "busy"
    detail = "Too many requests are waiting; try again"


class QueryTooSlow(Unavailable):
    """A list took more than 2 seconds of database time, or an aggregation more than it has."""

    code = "query_too_slow"
    detail = "The query took longer than 2 seconds of database time; filter more narrowly or send count=false"


class UploadLost(Unavailable):
    """The upload was given up for dead and swept away; nothing of it is left."""

    code = "upload_lost"
    detail = "The upload took too long and was removed; try again"


class ConfigurationError(ServiceError):
    """Something an operator must mend; the message is one line that says what and how."""

    code = "configuration_error"


class InvalidConfiguration(ConfigurationError):
    """Settings, a name or a key that cannot be. The command line prints `detail`, one line; HTTP has the paths."""

    status = 422
    code = "validation_error"

    def __init__(self, violations: Iterable[Violation], detail: str | None = None) -> None:
        self.violations = list(violations)
        super().__init__(detail or "; ".join(dict.fromkeys(violation.msg for violation in self.violations)))

    @classmethod
    def one(cls, loc: Location, msg: str) -> Self:
        return cls([Violation(loc, msg, "value_error")])

    def body(self) -> dict[str, Any]:
        return {"detail": [violation.as_dict() for violation in self.violations], "code": self.code}


class BackupError(ConfigurationError):
    """A backup that cannot be taken or used. The command line prints the code before the detail."""

    status = 422


class BackupDamaged(BackupError):
    """The file is no backup, or not all of one; `detail` names the member."""

    code = "backup_damaged"


class BackupForeign(BackupError):
    """The backup is whole, and was not made with this SECRET_KEY: its maker chose the users in it."""

    code = "backup_foreign"


class BackupTooNew(BackupError):
    """A later version of the service made the backup."""

    code = "backup_too_new"


class RestoreInvalid(BackupError):
    """The backup is whole, and what is in it cannot be a project here: `detail` says why."""

    code = "restore_invalid"


class DigestMismatch(BackupError):
    """The records that MongoDB stored are not those that were sent."""

    status = 503
    code = "digest_mismatch"


class StoreFull(BackupError):
    """The disk has no room for the backup; nothing of it is left there."""

    status = 507
    code = "store_full"


class ProjectBusy(BackupError):
    """Another backup or restore of the project runs, or its collections changed during each attempt.

    `job_id` is that of the other job, where it is one.
    """

    status = 409
    code = "project_busy"

    def __init__(self, detail: str | None = None, *, job_id: str | None = None) -> None:
        self.job_id = job_id
        super().__init__(detail)

    def body(self) -> dict[str, Any]:
        return super().body() | ({} if self.job_id is None else {"job_id": self.job_id})


class BackupNotFound(ServiceError):
    """No complete backup has this id in the project, or its file is gone."""

    status = 404
    code = "backup_not_found"
    detail = "There is no such backup"


class BackupInUse(ServiceError):
    """A job writes or reads the backup."""

    status = 409
    code = "backup_in_use"
    detail = "A job uses the backup; try again when it has ended"


class BackupOnOtherHost(ServiceError):
    """The file of the backup is in the folder of another host, which `detail` names."""

    status = 409
    code = "backup_on_other_host"


class JobNotFound(ServiceError):
    """No job has this id."""

    status = 404
    code = "job_not_found"
    detail = "There is no such job"


class JobNotCancellable(ServiceError):
    """The job has ended."""

    status = 409
    code = "job_not_cancellable"
    detail = "The job has ended"


class CatalogChanged(ProjectBusy):
    """A collection was made, dropped or made again while it was read: the reader begins again."""

    detail = "Collections of the project were made or dropped during the backup; try again"


class HistoryLost(BackupError):
    """MongoDB no longer keeps the moment of which the backup was to be."""

    status = 503
    code = "history_lost"
    detail = (
        "MongoDB no longer keeps the moment of the backup: raise its parameter minSnapshotHistoryWindowInSeconds above "
        "the seconds that the backup takes, and try again"
    )


class NotInFeed(Invalid):
    """The feed of the project does not keep the events that are asked for."""

    code = "not_in_feed"


class RejectedByValidator(ServiceError):
    """MongoDB's validator refused a document; `err_info` is its account, for schema/violations to translate."""

    status = 422
    code = "validation_error"
    detail = "The document does not conform to its schema"

    def __init__(self, err_info: Mapping[str, Any]) -> None:
        self.err_info = err_info
        super().__init__()


class SignInFailed(ServiceError):
    """A sign-in through a provider ended without a user. Only `code` goes into the redirect; `detail` is for the log."""

    status = 302
    code = "authentication_failed"


class InvalidAuthorizationCode(SignInFailed):
    """The code could not be exchanged at the provider."""

    code = "invalid_authorization_code"


class ProfileNotFetched(SignInFailed):
    """The provider's profile could not be fetched."""

    code = "failed_to_get_user_info"


class NoEmailProvided(SignInFailed):
    """The profile has no e-mail address."""

    code = "no_email_provided"


class EmailHasPassword(SignInFailed):
    """The address belongs to a user with a password."""

    code = "email_already_registered_with_password"


class UserNotStored(SignInFailed):
    """The user could not be stored."""

    code = "database_error"


class FactorMissing(SignInFailed):
    """The account has a second factor, or must have one: a sign-in with a `code_challenge` can ask for it."""

    code = "mfa_required"
