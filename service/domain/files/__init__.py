"""Files that users send: received, judged, named, protected, read back, swept."""

from typing import TYPE_CHECKING

from service.domain.access.control import AccessControl
from service.domain.collections.catalog import Catalogs
from service.domain.files.protection import FileProtection
from service.domain.files.signed_urls import UrlSigner
from service.domain.lists import Lists
from service.domain.projects import Foundation

if TYPE_CHECKING:
    from service.domain.files.files import Files

# HKDF purpose of the key that signs file URLs.
FILE_URLS = "file urls"


def build_protection(
    base: Foundation, access: AccessControl, catalogs: Catalogs, lists: Lists, *, window: int
) -> FileProtection:
    """`window` is in seconds; signatures of one window are the same."""
    signer = UrlSigner(base.secret_box.derive_key(FILE_URLS), window=window)
    return FileProtection(access, catalogs, lists, signer)


def build_files(base: Foundation, access: AccessControl, catalogs: Catalogs, lists: Lists, *, window: int) -> "Files":
    """As `build_protection`."""
    # Commands that only show URLs import no checks of contents. A server builds all at its start.
    from service.domain.files.files import Files

    return Files(base.projects, build_protection(base, access, catalogs, lists, window=window))
