"""Which answers of browsers are good: each thing that may be wrong is wrong once."""

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.cose import ES384

from faults.authenticator import (
    PRESENT,
    SYNCABLE,
    SYNCED,
    VERIFIED,
    Page,
    SoftAuthenticator,
    SoftPasskey,
    decode,
    encode,
    new_key,
)
from faults.commands import KEY
from service.passkeys.answers import AnswerRefused, Assertion, Passkey, PasskeyRegistration, RelyingParty
from service.passkeys.options import ALGORITHMS, PasskeyOwner, creation_options, request_options
from service.passkeys.verification import judge_assertion, read_registration

PARTY = RelyingParty("example.com", "A project", frozenset({"https://app.example.com"}))
HERE = Page("https://app.example.com")
ANN = PasskeyOwner(b"h" * 32, "ann@example.com")
SYNCING = PRESENT | VERIFIED | SYNCABLE | SYNCED


def registration(credential: Mapping[str, Any]) -> PasskeyRegistration:
    said = credential["response"]
    return PasskeyRegistration(
        decode(credential["rawId"]), decode(said["clientDataJSON"]), decode(said["attestationObject"])
    )


def assertion(credential: Mapping[str, Any]) -> Assertion:
    said = credential["response"]
    names = ("clientDataJSON", "authenticatorData", "signature", "userHandle")
    return Assertion(decode(credential["rawId"]), *(decode(said[name]) for name in names))


def register(device: SoftAuthenticator, page: Page = HERE) -> Passkey:
    challenge = secrets.token_bytes(32)
    options = creation_options(PARTY, ANN, challenge, [])
    return read_registration(PARTY, challenge, registration(device.create(options, page)))


def use(device: SoftAuthenticator, passkey: Passkey, page: Page = HERE) -> int:
    """The counter afterwards."""
    challenge = secrets.token_bytes(32)
    options = request_options(PARTY, challenge, [passkey.credential_id])
    return judge_assertion(PARTY, challenge, passkey, assertion(device.get(options, page))).counter


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_passkey_is_made_and_used(algorithm: int) -> None:
    device = SoftAuthenticator(algorithm=algorithm)
    passkey = register(device)
    assert passkey.credential_id == device.passkeys[0].id
    assert use(device, passkey) == 1


def test_what_a_browser_is_asked() -> None:
    made = creation_options(PARTY, ANN, b"c" * 32, [b"old"])
    assert made["authenticatorSelection"] == {
        "residentKey": "required",
        "requireResidentKey": True,
        "userVerification": "required",
    }
    assert (made["attestation"], made["excludeCredentials"]) == ("none", [{"type": "public-key", "id": encode(b"old")}])
    assert made["user"]["id"] == encode(ANN.handle)
    asked = request_options(PARTY, b"c" * 32)
    assert (asked["rpId"], asked["allowCredentials"], asked["userVerification"]) == ("example.com", [], "required")
    assert asked["challenge"] == encode(b"c" * 32)


WRONG_PAGES = {
    "another origin": Page("https://evil.example"),
    "a subdomain": Page("https://app.example.com.evil.example"),
    "no https": Page("http://app.example.com"),
    "another port": Page("https://app.example.com:8443"),
    "another rpId": Page("https://app.example.com", rp_id="evil.example"),
    "in a frame of another": Page("https://app.example.com", says={"crossOrigin": True}),
    "a frame, not as a boolean": Page("https://app.example.com", says={"crossOrigin": "no"}),
    "another ceremony": Page("https://app.example.com", says={"type": "payment.get"}),
    "no challenge": Page("https://app.example.com", says={"challenge": ""}),
    "another challenge": Page("https://app.example.com", says={"challenge": encode(b"c" * 32)}),
    "an origin that is a list": Page("https://app.example.com", says={"origin": ["https://app.example.com"]}),
}


@pytest.mark.parametrize("page", WRONG_PAGES.values(), ids=WRONG_PAGES)
def test_m5_a_page_that_is_not_ours_makes_and_uses_none(page: Page) -> None:
    device = SoftAuthenticator()
    with pytest.raises(AnswerRefused):
        register(device, page)
    passkey = register(device)
    with pytest.raises(AnswerRefused):
        use(device, passkey, page)


def test_a_page_without_cross_origin_is_as_one_that_is_not_in_a_frame() -> None:
    device = SoftAuthenticator()

    class Older(Page):
        def client_data(self, ceremony: str, challenge: str) -> bytes:
            return super().client_data(ceremony, challenge).replace(b', "crossOrigin": false', b"")

    assert use(device, register(device, Older(HERE.origin)), Older(HERE.origin)) == 1


@pytest.mark.parametrize("flags", [PRESENT, VERIFIED, 0])
def test_m5_without_verification_of_the_user_there_is_none(flags: int) -> None:
    device = SoftAuthenticator()
    passkey = register(device)
    device.flags = flags
    for attempt in (lambda: use(device, passkey), lambda: register(device)):
        with pytest.raises(AnswerRefused, match="user verification"):
            attempt()


def test_m5_counters_of_passkeys_on_one_device_increase() -> None:
    device = SoftAuthenticator()
    passkey = register(device)
    with pytest.raises(AnswerRefused, match="counter"):
        use(device, Passkey(passkey.credential_id, passkey.public_key, counter=1))
    silent = SoftAuthenticator(counting=False)
    uncounted = register(silent)
    assert [use(silent, uncounted), use(silent, uncounted)] == [0, 0]
    with pytest.raises(AnswerRefused, match="counter"):
        use(silent, Passkey(uncounted.credential_id, uncounted.public_key, counter=7))


def test_m5_counters_of_synced_passkeys_say_nothing() -> None:
    device = SoftAuthenticator(SYNCING, counting=False)
    passkey = register(device)
    assert passkey.is_syncable
    assert use(device, Passkey(passkey.credential_id, passkey.public_key, 41, is_syncable=True)) == 0


def test_a_passkey_of_one_device_is_never_synced() -> None:
    device = SoftAuthenticator()
    passkey = register(device)
    device.flags |= SYNCABLE | SYNCED
    with pytest.raises(AnswerRefused, match="backed up"):
        use(device, passkey)
    device.flags = PRESENT | VERIFIED | SYNCED
    with pytest.raises(AnswerRefused, match="backed up"):
        register(device)


def test_another_key_signs_nothing() -> None:
    device = SoftAuthenticator()
    passkey = register(device)
    forger = SoftAuthenticator()
    forger.passkeys.append(SoftPasskey(new_key(), passkey.credential_id))
    with pytest.raises(AnswerRefused, match="InvalidSignature"):
        use(forger, passkey)
    with pytest.raises(AnswerRefused, match="another credential"):
        use(device, Passkey(b"another", passkey.public_key))


def test_what_was_signed_for_one_challenge_is_not_for_another() -> None:
    device = SoftAuthenticator()
    passkey = register(device)
    first, second = secrets.token_bytes(32), secrets.token_bytes(32)
    answer = assertion(device.get(request_options(PARTY, first), HERE))
    assert judge_assertion(PARTY, first, passkey, answer).counter == 1
    with pytest.raises(AnswerRefused, match="challenge"):
        judge_assertion(PARTY, second, passkey, answer)


# fido2 gives no type for it.
as_cose: Any = ES384.from_cryptography_key
KEYS: dict[str, Mapping[Any, Any]] = {
    "no point of the curve": {1: 2, 3: -7, -1: 1, -2: b"\x01" * 32, -3: b"\x02" * 32},
    "another curve": {1: 2, 3: -7, -1: 2, -2: b"\x01" * 32, -3: b"\x02" * 32},
    "an algorithm nobody asked for": {1: 2, 3: -47, -1: 8, -2: b"\x01" * 32, -3: b"\x02" * 32},
    "a good key of another kind": as_cose(ec.generate_private_key(ec.SECP384R1()).public_key()),
    "no algorithm": {1: 2},
    "a modulus of 8,192 bits": {1: 3, 3: -257, -1: b"\xff" * 1_024, -2: b"\x01\x00\x01"},
    "an exponent of 64 bits": {1: 3, 3: -257, -1: b"\xff" * 256, -2: b"\xff" * 8},
    "a number for a key": {1: 1, 3: -8, -1: 6, -2: 10**9},
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_what_is_no_key_is_not_kept(key: Mapping[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SoftPasskey, "public_key", key)
    with pytest.raises(AnswerRefused):
        register(SoftAuthenticator())


HOSTILE = {
    "nothing": b"",
    "an array that says it is long": b"\x9b" + b"\xff" * 8,
    "arrays in arrays": b"\x81" * 8_000,
    "as many numbers as fit": b"\x99\x1f\x3d" + b"\x00" * 7_997,
    "a text that is none": cbor.encode({"fmt": "none", "attStmt": {}, "authData": "x"}),
    "a number for bytes": cbor.encode({"fmt": "none", "attStmt": {}, "authData": 10**12}),
    "no attestation": cbor.encode({"fmt": "none"}),
    "a head alone": cbor.encode({"fmt": "none", "attStmt": {}, "authData": b"\x00" * 37}),
}


@pytest.mark.parametrize("attestation", HOSTILE.values(), ids=HOSTILE)
def test_hostile_bytes_are_refused_at_once(attestation: bytes) -> None:
    client = HERE.client_data("webauthn.create", encode(b"c" * 32))
    begin = time.process_time()
    with pytest.raises(AnswerRefused):
        read_registration(PARTY, b"c" * 32, PasskeyRegistration(b"id", client, attestation))
    assert time.process_time() - begin < 0.5


@pytest.mark.parametrize(
    "client", [b"", b"[]", b"{}", b"[" * 4_000, b'{"type": 1, "challenge": 1e400, "origin": null}']
)
def test_client_data_that_is_none_is_refused(client: bytes) -> None:
    passkey = register(SoftAuthenticator())
    with pytest.raises(AnswerRefused):
        judge_assertion(PARTY, b"c" * 32, passkey, Assertion(passkey.credential_id, client, bytes(37), b""))


STARTED = """
import asyncio, sys
from service.app import create_app
from service.domain.accounts import password_rules
from service.settings import Settings

async def start():
    app = create_app(Settings())
    async with app.router.lifespan_context(app):
        print([name for name in sys.modules if name.startswith("fido2")], password_rules._common.cache_info().currsize)

asyncio.run(start())
"""


def test_a_service_that_has_started_knows_nothing_yet_of_passkeys_and_common_passwords(mongodb_uri: str) -> None:
    """fido2 takes 60 ms and 3 MiB, which only those pay who have passkeys."""
    environment = {**os.environ, "MONGODB_URI": mongodb_uri, "DATABASE_PREFIX": "t_lazy_", "SECRET_KEY": KEY}
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", STARTED], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.splitlines()[-1] == "[] 0"
