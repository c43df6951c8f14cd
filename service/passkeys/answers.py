"""What browsers answer, and what is kept of a passkey. Whatever is refused is Refused, for whatever reason."""

from dataclasses import dataclass, field


class Refused(Exception):
    """An answer that is not good. The text says why, for our own log, and never what was in it."""


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """On whose behalf browsers are asked: the domain that passkeys belong to, and the origins whose pages may ask for them."""

    id: str
    name: str
    origins: frozenset[str]


@dataclass(frozen=True, slots=True)
class Registration:
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
    """What an assertion is judged by. `public_key` is COSE; `is_syncable` one that may be copied to other devices."""

    credential_id: bytes
    public_key: bytes = field(repr=False)
    counter: int = 0
    is_syncable: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """What a good assertion says of its passkey: its counter from now on, which only where it `is_counting` must increase."""

    counter: int
    is_counting: bool
