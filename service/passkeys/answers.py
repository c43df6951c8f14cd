"""The answers of browsers, and the stored fields of a passkey. Every fault of an answer is the same Refused."""

from dataclasses import dataclass, field


class AnswerRefused(Exception):
    """An answer that is not good. The text is the reason, for our own log, and never repeats the answer."""


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """On whose behalf browsers are asked: the domain that passkeys belong to, and the origins whose pages may ask for them."""

    id: str
    name: str
    origins: frozenset[str]


@dataclass(frozen=True, slots=True)
class PasskeyRegistration:
    """The answer of navigator.credentials.create()."""

    credential_id: bytes
    client_data: bytes = field(repr=False)
    attestation: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Assertion:
    """The answer of navigator.credentials.get()."""

    credential_id: bytes
    client_data: bytes = field(repr=False)
    authenticator_data: bytes = field(repr=False)
    signature: bytes = field(repr=False)
    user_handle: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Passkey:
    """The stored passkey that judges an assertion.

    `public_key` is COSE; `is_syncable`: it may be copied to other devices.
    """

    credential_id: bytes
    public_key: bytes = field(repr=False)
    counter: int = 0
    is_syncable: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """The result of a good assertion: the passkey's new counter, which must increase only if it `is_counting`."""

    counter: int
    is_counting: bool
