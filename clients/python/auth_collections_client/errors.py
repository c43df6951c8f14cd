"""The errors that calls raise. A class stands for a kind of status; `code` is the service's stable word for the case."""

from typing import Any, Literal

from auth_collections_client.narrow import list_of, object_of

Outcome = Literal["refused", "unknown"]


class ConfigurationError(Exception):
    """The client is used wrongly; nothing was sent."""


class ServiceError(Exception):
    """A call failed. `outcome` is "unknown" if a write was sent and may have happened, else "refused".

    `status` is 0 without an answer; `body` is the service's answer, never the request.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        code: str = "",
        body: Any = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.body = body
        self.request_id = request_id
        self.retry_after = retry_after
        self.outcome: Outcome = "refused"
        # Documents that `update_many` or `delete_many` had changed before the error.
        self.changed: int | None = None

    def __str__(self) -> str:
        where = " ".join(str(part) for part in (self.status, self.code) if part)
        return f"{self.message} ({where})" if where else self.message


class RequestError(ServiceError):
    """400, 405, 408, 413, 415, 416, 426, 431, and a redirect that brings `svc-error`."""


class CredentialError(ServiceError):
    """401: the key, the token or the proof is not good."""


class ForbiddenError(ServiceError):
    """403: the caller is known and may not do this."""


class NotFoundError(ServiceError):
    """404."""


class ConflictError(ServiceError):
    """409 and 412. `current` is the stored version of a 412; `matched` is the count of `count_changed`."""

    current: int | None = None
    matched: int | None = None


class ValidationError(ServiceError):
    """422. `errors` has one entry for each fault: `loc`, `msg`, `type`."""

    @property
    def errors(self) -> list[dict[str, Any]]:
        return [object_of(each) for each in list_of(object_of(self.body).get("detail"))]

    def at(self, *path: str | int) -> str | None:
        """Returns the first message about a place: `at("title")` finds `["body", "data", "title"]`."""
        found = (each for each in self.errors for start in range(3) if each.get("loc", [])[start:] == list(path))
        return next((each.get("msg") for each in found), None)


class RateLimitError(ServiceError):
    """429; `retry_after` has the seconds."""


class UnavailableError(ServiceError):
    """5xx."""


class TransportError(ServiceError):
    """No answer of the service. `code` is `network`, `timeout`, `aborted` or `bad_answer`."""

    was_sent = True


class TokenError(Exception):
    """A token that `verify` refuses.

    `code` is `malformed`, `algorithm`, `unknown_key`, `signature`, `expired`, `issuer`, `audience` or `ended`.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def class_for(status: int) -> type[ServiceError]:
    """Returns the class of the errors of a status."""
    if status >= 500:
        return UnavailableError
    return _CLASSES.get(status, RequestError)


_CLASSES: dict[int, type[ServiceError]] = {
    401: CredentialError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    412: ConflictError,
    422: ValidationError,
    429: RateLimitError,
}
