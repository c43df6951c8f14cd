"""The judge of passkeys. fido2 reads the answers of browsers and checks signatures; this module decides what must hold.

Its own server part is not used: it judges neither `crossOrigin` nor counters nor backups, and brings the list of public
suffixes along, six of its nine megabytes.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from hmac import compare_digest

from cryptography.exceptions import InvalidSignature
from fido2 import cbor
from fido2.cose import RS256, CoseKey
from fido2.webauthn import AttestationObject, AuthenticatorData, CollectedClientData

from service.passkeys.answers import AnswerRefused, Assertion, Passkey, PasskeyRegistration, RelyingParty, Use
from service.passkeys.options import ALGORITHMS

CREATE, GET = "webauthn.create", "webauthn.get"
# WebAuthn's own bound.
MAX_CREDENTIAL_ID = 1_023
# 4,096 bits and 65,537; no real passkey has a larger key, which would cost more to check.
MAX_MODULUS, MAX_EXPONENT = 512, 4


def read_registration(party: RelyingParty, challenge: bytes, answer: PasskeyRegistration) -> Passkey:
    """The new passkey. Raises Refused. The maker of the device does not matter, so its attestation is not read."""
    with _refusing():
        _check_client(CollectedClientData(answer.client_data), CREATE, party, challenge)
        data = AttestationObject(answer.attestation).auth_data
        _check_authenticator(data, party)
        credential = data.credential_data
        if credential is None or credential.credential_id != answer.credential_id:
            raise AnswerRefused("another credential")
        if not 0 < len(answer.credential_id) <= MAX_CREDENTIAL_ID:
            raise AnswerRefused("length of the credential's id")
        if data.is_backed_up() and not data.is_backup_eligible():
            raise AnswerRefused("backed up without being eligible")
        _check_key(credential.public_key)
        key = cbor.encode(credential.public_key)
        return Passkey(answer.credential_id, key, data.counter, data.is_backup_eligible())


def judge_assertion(party: RelyingParty, challenge: bytes, passkey: Passkey, answer: Assertion) -> Use:
    """Checks that the browser used the passkey just now, on a page of ours; returns its use. Raises Refused.

    The caller checks the passkey's owner, and that the counter is still the stored one.
    """
    with _refusing():
        if answer.credential_id != passkey.credential_id:
            raise AnswerRefused("another credential")
        client, data = CollectedClientData(answer.client_data), AuthenticatorData(answer.authenticator_data)
        _check_client(client, GET, party, challenge)
        _check_authenticator(data, party)
        _read_key(passkey.public_key).verify(data + client.hash, answer.signature)
        if data.is_backed_up():
            if not passkey.is_syncable:
                raise AnswerRefused("backed up without being eligible")
            # Devices that share a passkey do not share a counter.
            return Use(data.counter, is_counting=False)
        if (data.counter or passkey.counter) and data.counter <= passkey.counter:
            raise AnswerRefused("counter")
        return Use(data.counter, is_counting=True)


def _read_key(encoded: bytes) -> CoseKey:
    key, _ = cbor.decode_from(encoded)
    return CoseKey.parse(key)


def _check_client(client: CollectedClientData, ceremony: str, party: RelyingParty, challenge: bytes) -> None:
    if client.type != ceremony:
        raise AnswerRefused("type")
    if not compare_digest(client.challenge, challenge):
        raise AnswerRefused("challenge")
    if client.origin not in party.origins:
        raise AnswerRefused("origin")
    # A page of ours in a frame of another site.
    if client.cross_origin is not False:
        raise AnswerRefused("crossOrigin")


def _check_authenticator(data: AuthenticatorData, party: RelyingParty) -> None:
    if not compare_digest(data.rp_id_hash, hashlib.sha256(party.id.encode()).digest()):
        raise AnswerRefused("rpId")
    if not (data.is_user_present() and data.is_user_verified()):
        raise AnswerRefused("user verification")


def _check_key(key: CoseKey) -> None:
    """That it is one of the kinds we asked for, and a point or a modulus with which something can be signed."""
    if key[3] not in ALGORITHMS:
        raise AnswerRefused("algorithm")
    if isinstance(key, RS256) and (len(key[-1]) > MAX_MODULUS or len(key[-2]) > MAX_EXPONENT):
        raise AnswerRefused("length of the key")
    try:
        key.verify(b"", bytes(64))
    except InvalidSignature:
        # A sound key. Bytes that are no key at all raise another error.
        return


@contextmanager
def _refusing() -> Iterator[None]:
    """Turns every error of the library about an answer into the same Refused, which shows strangers nothing."""
    try:
        yield
    except AnswerRefused:
        raise
    except Exception as error:
        raise AnswerRefused(type(error).__name__) from None
