"""The documents of declared collections."""

from service.domain.collections.collections import Collections
from service.domain.documents.reader import Engine
from service.domain.documents.refusals import ConflictLimit
from service.domain.files.files import Files
from service.domain.projects import Foundation


def build_documents(base: Foundation, collections: Collections, files: Files) -> Engine:
    return Engine(
        catalogs=collections.catalogs,
        lists=files.protection.lists,
        judge=collections.judge,
        protection=files.protection,
        access=collections.access,
        conflicts=ConflictLimit(collections.limits),
        projects=base.projects,
    )
