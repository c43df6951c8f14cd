"""Translates the driver's errors into ours. The one place that knows them; `records` uses it around each call."""

from collections.abc import Callable, Mapping
from typing import Any

from pymongo.errors import BulkWriteError, DuplicateKeyError, OperationFailure, PyMongoError

from service.errors import (
    DuplicateValue,
    NotReady,
    RejectedByValidator,
    ServiceError,
    TooLarge,
    Unavailable,
    UsernameTaken,
)

MAX_TIME_EXPIRED = 50
DOCUMENT_VALIDATION_FAILURE = 121
DUPLICATE_KEY = 11000
AUTHENTICATION_FAILED = 18
# 10334 is the driver's and the server's BSONObjectTooLarge; 17419 and 17420 say that an update would make one.
TOO_LARGE = frozenset({10334, 17419, 17420})

KnownErrors = Mapping[int | None, Callable[[], ServiceError]]
NOTHING_KNOWN: KnownErrors = {}


def translate(error: BaseException, doing: str, known: KnownErrors) -> ServiceError | None:
    """Our error for one of the driver's, raised during the work `doing`; None for any other error."""
    if isinstance(error, PyMongoError):
        code = getattr(error, "code", None)
        if found := known.get(code):
            return found()
        is_late = error.timeout or code == MAX_TIME_EXPIRED
    else:
        is_late = isinstance(error, TimeoutError)
    if is_late:
        return Unavailable(f"MongoDB took too long to {doing}; try again")
    return _ours(error) if isinstance(error, PyMongoError) else None


def _ours(error: PyMongoError) -> ServiceError:
    if isinstance(error, DuplicateKeyError):
        return duplicate(error.details or {})
    if isinstance(error, BulkWriteError) and error.details["writeErrors"] and not error.details["writeConcernErrors"]:
        return write_error(error.details["writeErrors"][0])
    if isinstance(error, OperationFailure):
        return _refusal(error)
    if type(error).__name__ == "DocumentTooLarge":
        return TooLarge("The record would be larger than 16 MB")
    return Unavailable()


def duplicate(details: Mapping[str, Any]) -> ServiceError:
    """The error of a unique index, of which MongoDB's account names the fields but also the value."""
    fields = details.get("keyPattern", {"_id": 1})
    return UsernameTaken() if "username_key" in fields else DuplicateValue(*fields)


def write_error(details: Mapping[str, Any]) -> ServiceError:
    """One write error of a batch."""
    if details["code"] == DOCUMENT_VALIDATION_FAILURE:
        return RejectedByValidator(details.get("errInfo", {}))
    return duplicate(details) if details["code"] == DUPLICATE_KEY else Unavailable()


def _refusal(error: OperationFailure) -> ServiceError:
    if error.code == DOCUMENT_VALIDATION_FAILURE:
        return RejectedByValidator((error.details or {}).get("errInfo", {}))
    if error.code in TOO_LARGE:
        return TooLarge("The record would be larger than 16 MB")
    if error.code == AUTHENTICATION_FAILED:
        return NotReady("MongoDB refuses the user name or the password (code 18, AuthenticationFailed)")
    return Unavailable()
