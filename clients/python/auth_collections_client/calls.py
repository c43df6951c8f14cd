"""One call of the service, before it is sent, and the options that every call takes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, cast

from auth_collections_client.encoding import json_bytes, query_value
from auth_collections_client.errors import ConfigurationError
from auth_collections_client.forms import Form

# safe: the call ends alike however often it is sent; keyed: under an `Idempotency-Key`; once: never sent again blindly.
Repeat = Literal["safe", "keyed", "once"]
# caller: the user's token, else the key; both: the key, and the token if there is one; the others are one or nothing.
Credential = Literal["caller", "key", "both", "token", "none"]
VERSION = "0.1.0"
# Streams and forms may take so long, in seconds, where no timeout is given.
STREAM_SECONDS = 600.0
LogRecord = dict[str, Any]


class Options(TypedDict, total=False):
    """`timeout` is in seconds and of one attempt; `retries` counts further attempts."""

    timeout: float
    retries: int
    idempotent: bool
    headers: Mapping[str, str]


def split_options(given: Mapping[str, Any]) -> tuple[Options, dict[str, Any]]:
    """Returns the options among keyword arguments, and all others that are not None."""
    options = {name: value for name, value in given.items() if name in Options.__annotations__}
    rest = {name: value for name, value in given.items() if name not in options and value is not None}
    return cast("Options", options), rest


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a client. `repr` shows no key."""

    url: str
    key: str = field(repr=False)
    timeout: float = 30.0
    retries: int = 3
    max_retry_wait: float = 10.0
    idempotent: bool = True
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    log: Callable[[LogRecord], object] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not str(self.url).startswith(("http://", "https://")):
            raise ConfigurationError("The URL of the service begins with https:// or http://.")
        check_secret(self.key, "key")
        if not self.url.partition("//")[2].strip("/"):
            raise ConfigurationError("The URL of the service names no host.")

    @property
    def has_secret_key(self) -> bool:
        return not self.key.startswith("acp_")


def check_secret(value: str, name: str) -> None:
    """Raises ConfigurationError where a key or token could not stand in a header; the message does not show it."""
    if not value or not all("!" <= each <= "~" for each in value):
        raise ConfigurationError(f"The {name} is empty, or has characters that no {name} has.")


@dataclass(frozen=True, slots=True)
class Call:
    """A request. Its body is `content`, a `form`, or `rows`, an iterator of bytes that can be sent once.

    The answer of a call with `is_stream` is read as it comes.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    content: bytes | None = None
    form: Form | None = None
    rows: Any = None
    is_stream: bool = False
    content_type: str | None = None
    repeat: Repeat = "once"
    is_write: bool = True
    credential: Credential = "caller"
    token: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    options: Options = field(default_factory=Options)
    on_progress: Callable[[int, int], object] | None = None

    def tell(self, done: int) -> None:
        """Reports the progress of a form."""
        if self.on_progress is not None and self.form is not None:
            self.on_progress(done, self.form.length)

    def seconds(self, usual: float) -> float:
        """Returns the seconds that one attempt may take; `usual` is the client's setting."""
        is_long = self.form is not None or self.rows is not None or self.is_stream
        return self.options.get("timeout", STREAM_SECONDS if is_long else usual)


def read(path: str, query: Mapping[str, Any] | None = None, *, options: Options, **more: Any) -> Call:
    """Returns a GET, which may be sent again."""
    return Call("GET", path, query_of(query), repeat="safe", is_write=False, options=options, **more)


def ask(path: str, body: Any, *, options: Options, **more: Any) -> Call:
    """Returns a POST that only reads."""
    return post(path, body, repeat="safe", is_write=False, options=options, **more)


def post(path: str, body: Any, *, options: Options, method: str = "POST", batch: object = None, **more: Any) -> Call:
    """Returns a call with a JSON body."""
    content = json_bytes(body, batch)
    return Call(method, path, content=content, content_type="application/json", options=options, **more)


def query_of(query: Mapping[str, Any] | None) -> dict[str, str]:
    return {name: query_value(value) for name, value in present(query or {}).items()}


def if_match(value: int | str | None) -> dict[str, str]:
    """Returns the header of a condition on the version: a number, or an ETag's text."""
    if value is None:
        return {}
    return {"if-match": f'"v{value}"' if isinstance(value, int) else value}


def present(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the entries that are not None."""
    return {name: value for name, value in parts.items() if value is not None}
