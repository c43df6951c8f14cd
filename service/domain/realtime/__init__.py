"""Live queries: the records they find now, and later changes of these, as far as the project's rules let the caller
read them.
"""

from collections.abc import Callable

from service.domain.files.protection import FileProtection
from service.domain.projects import Foundation
from service.domain.realtime.realtime import Realtime
from service.domain.sessions.sessions import Sessions
from service.storage.client import Client

# HKDF purpose of the key that signs realtime cursors.
CURSORS = "realtime cursors"


def build_realtime(
    base: Foundation, protection: FileProtection, sessions: Sessions, connect: Callable[[], Client]
) -> Realtime:
    """`connect` makes the client of the change feed."""
    key = base.secret_box.derive_key(CURSORS)
    return Realtime(connect, base.databases.prefix, protection=protection, sessions=sessions, key=key)
