"""The one place where the driver's errors become ours."""

from collections.abc import Callable, Mapping
from time import perf_counter
from types import TracebackType
from typing import Any

from pymongo.errors import BulkWriteError, DuplicateKeyError, OperationFailure, PyMongoError

from service.errors import DuplicateValue, NotReady, RejectedByValidator, ServiceError, TooLarge, Unavailable
from service.observe.metrics import operation_series

MAX_TIME_EXPIRED = 50
DOCUMENT_VALIDATION_FAILURE = 121
DUPLICATE_KEY = 11000
AUTHENTICATION_FAILED = 18
# 10334 is the driver's and the server's BSONObjectTooLarge; 17419 and 17420 say that an update would make one.
TOO_LARGE = frozenset({10334, 17419, 17420})

KnownErrors = Mapping[int | None, Callable[[], ServiceError]]
NOTHING_KNOWN: KnownErrors = {}


class _Translation:
    """`with translated():` turns what the driver raises into the errors of errors.py, and times it. A class: it is fast."""

    __slots__ = ("_doing", "_known", "_started")

    def __init__(self, doing: str, known: KnownErrors) -> None:
        self._doing = doing
        self._known = known

    def __enter__(self) -> None:
        self._started = perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ours = self._translate(error) if error is not None else None
        outcome = ours.code if ours is not None else "ok" if error is None else "ended"
        operation_series(outcome).observe(perf_counter() - self._started)
        if ours is not None:
            raise ours from error

    def _translate(self, error: BaseException) -> ServiceError | None:
        """None for what is not the driver's."""
        if isinstance(error, PyMongoError):
            code = getattr(error, "code", None)
            if known := self._known.get(code):
                return known()
            is_late = error.timeout or code == MAX_TIME_EXPIRED
        else:
            is_late = isinstance(error, TimeoutError)
        if is_late:
            return Unavailable(f"MongoDB took too long to {self._doing}; try again")
        return _ours(error) if isinstance(error, PyMongoError) else None


def translated(doing: str = "answer", known: KnownErrors = NOTHING_KNOWN) -> _Translation:
    """The context in which every driver call is made.

    Raises DuplicateValue, RejectedByValidator, TooLarge; Unavailable when the outcome is unknown, which says that MongoDB
    took too long to do what it was `doing` where that is so. The codes of `known` are errors of the caller's.
    """
    return _Translation(doing, known)


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


def duplicate(details: Mapping[str, Any]) -> DuplicateValue:
    """The error of a unique index, of which MongoDB's account names the fields but also the value."""
    return DuplicateValue(next(iter(details.get("keyPattern", {})), "_id"))


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
