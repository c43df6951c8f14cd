"""A project's users and their passwords."""

import os
from dataclasses import dataclass

from service.domain.access.control import AccessControl
from service.domain.accounts.changes import Changes
from service.domain.accounts.leaked_passwords import LeakedPasswords
from service.domain.accounts.passkeys import PURPOSE, Passkeys
from service.domain.accounts.passwords import Passwords
from service.domain.captcha import build_captcha
from service.domain.captcha.captcha import Captcha
from service.domain.files.protection import FileProtection
from service.domain.lists import Lists
from service.domain.mail_flows.flows import Flows
from service.domain.profiles.profiles import Profiles
from service.domain.projects import Foundation
from service.domain.sessions.sessions import Sessions
from service.outbound.fetching import Outbound


@dataclass(frozen=True, slots=True)
class PasswordHashing:
    """Passwords are hashed in `threads`, without a number in one for each CPU. Leaks are looked up below `range_url`."""

    bcrypt_cost: int
    threads: int | None
    range_url: str


@dataclass(frozen=True, slots=True)
class Accounts:
    """The parts that every operation on accounts works with."""

    passwords: Passwords
    leaks: LeakedPasswords
    captcha: Captcha
    passkeys: Passkeys
    sessions: Sessions
    flows: Flows
    changes: Changes
    access: AccessControl
    protection: FileProtection
    lists: Lists
    profiles: Profiles


def build_accounts(
    base: Foundation,
    sessions: Sessions,
    flows: Flows,
    protection: FileProtection,
    profiles: Profiles,
    hashing: PasswordHashing,
    outbound: Outbound,
) -> Accounts:
    return Accounts(
        passwords=Passwords(hashing.bcrypt_cost, hashing.threads or os.cpu_count() or 1),
        captcha=build_captcha(base, outbound),
        leaks=LeakedPasswords(hashing.range_url, outbound),
        passkeys=Passkeys(base.secret_box.derive_key(PURPOSE)),
        sessions=sessions,
        flows=flows,
        changes=Changes(sessions.access, flows),
        access=sessions.access,
        protection=protection,
        lists=protection.lists,
        profiles=profiles,
    )
