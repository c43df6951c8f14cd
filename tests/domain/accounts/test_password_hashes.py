"""Hashes of five families, each with a vector that another program made, and limits of what checking one may cost."""

import base64

import pytest

from service.domain.accounts.password_hashes import (
    BCRYPT,
    FAMILIES,
    find_family,
    hash_fault,
    is_foreign,
    is_outdated,
    matches,
)
from service.storage.accounts import HASH
from service.storage.layout import FOREIGN_HASH

# Firebase's own example (github.com/firebase/scrypt, README).
SIGNER = "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="
KEYS = {"main": base64.b64decode(SIGNER)}
FIREBASE = (
    "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,k=main$42xEC+ixf3L2lw==$"
    "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=="
)
# The PBKDF2 and scrypt of passlib's documentation; the bcrypt of its tests, the argon2 of its reference library.
VECTORS = {
    "bcrypt": ("password", "$2a$05$bvIG6Nmid91Mu9RcmmWZfO5HJIMCT8riNW0hEp8f6/FuA2/mHZFpe"),
    "argon2": ("password", "$argon2i$v=19$m=8,t=1,p=1$c29tZXNhbHQ$3WpJO4NfOVo"),
    "scrypt": ("password", "$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E"),
    "fbscrypt": ("user1password", FIREBASE),
    "pbkdf2": (
        "password",
        "$pbkdf2-sha256$i=6400$.6UI/S.nXIk8jcbdHx3Fhg$98jZicV16ODfEsEZeYPGHU3kbrUrvUEXOPimVSQDD44",
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_a_family_takes_the_password_of_its_vector_and_no_other(name: str) -> None:
    password, stored = VECTORS[name]
    family = find_family(stored)
    assert family is not None
    assert family.name == name
    assert hash_fault(stored, KEYS) is None
    assert matches(password.encode(), stored, KEYS)
    assert not matches(b"another", stored, KEYS)


def test_firebase_needs_the_projects_signer_key() -> None:
    assert hash_fault(FIREBASE) == "names a signer key that this project does not have"
    assert not matches(b"user1password", FIREBASE)
    assert not matches(b"user1password", FIREBASE, {"main": bytes(64)})


@pytest.mark.parametrize(
    ("stored", "fault"),
    [
        ("$scrypt$ln=30,r=8,p=1$c2FsdA$aGFzaA", "may cost at most 64 MiB and 4 lanes"),
        ("$scrypt$ln=2147483647,r=8,p=1$c2FsdA$aGFzaA", "may cost at most 64 MiB and 4 lanes"),
        ("$scrypt$ln=10,r=8,p=5$c2FsdA$aGFzaA", "may cost at most 64 MiB and 4 lanes"),
        ("$pbkdf2-sha256$i=1000000000$c2FsdA$aGFzaA", "may have at most 2,000,000 rounds"),
        # 64 bytes are four digests of SHA-1, and each takes all rounds.
        (f"$pbkdf2-sha1$i=1000000$c2FsdA${base64.b64encode(bytes(64)).decode()}", "may have at most 2,000,000 rounds"),
        ("$2b$31$" + "a" * 53, "may have a cost of 4 to 16"),
        (
            "$argon2id$v=19$m=4194304,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNo",
            "may cost at most 262144 KiB, 16 passes and 16 lanes",
        ),
        ("$scrypt$ln=10,r=8,p=1$c2FsdA$a", "is not a whole hash of scrypt"),
        ("$argon2id$x", "is not a whole hash of argon2"),
        ("$1$salt$md5", "must be a hash of bcrypt, argon2, scrypt, fbscrypt or pbkdf2"),
        ("ann@example.com", "must be a hash of bcrypt, argon2, scrypt, fbscrypt or pbkdf2"),
    ],
)
def test_g15_a_hash_that_costs_too_much_or_is_none_is_refused(stored: str, fault: str) -> None:
    assert hash_fault(stored, KEYS) == fault


def test_a_cheaper_or_foreign_hash_is_outdated_and_a_dearer_one_is_not() -> None:
    of_cost = {cost: f"$2b${cost:02}$" + "a" * 53 for cost in (4, 10, 12)}
    assert [is_outdated(stored, 10) for stored in of_cost.values()] == [True, False, False]
    assert is_outdated(of_cost[10].replace("$2b", "$2y"), 10)
    assert is_outdated(FIREBASE, 4)


def test_storage_knows_the_begin_of_each_family() -> None:
    begin, end = FOREIGN_HASH["password"]["$gte"], FOREIGN_HASH["password"]["$lt"]
    for family in FAMILIES:
        assert HASH.match(family.begin)
        assert (begin <= family.begin < end) is (family is not BCRYPT)
        assert is_foreign(family.begin) is (family is not BCRYPT)
