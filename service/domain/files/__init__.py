"""Files that users send: received, judged, named, protected, read back, swept."""

from service.domain.access.control import AccessControl
from service.domain.collections.catalog import Catalogs
from service.domain.files.files import Files
from service.domain.files.protection import FileProtection
from service.domain.files.signed_urls import UrlSigner
from service.domain.lists import Lists
from service.domain.projects import Foundation

# HKDF purpose of the key that signs file URLs.
FILE_URLS = "file urls"


def build_files(base: Foundation, access: AccessControl, catalogs: Catalogs, lists: Lists, *, window: int) -> Files:
    """`window` is in seconds; signatures of one window are the same."""
    signer = UrlSigner(base.secret_box.derive_key(FILE_URLS), window=window)
    return Files(base.projects, FileProtection(access, catalogs, lists, signer))
