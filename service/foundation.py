"""Makes the foundation of all services. Commands that need no more import this alone, which costs less CPU."""

from math import inf

from service.domain.projects import Foundation, build_projects
from service.schema.file_urls import FileUrls
from service.settings import Settings
from service.storage.client import connect
from service.storage.databases import Databases

__all__ = ["Foundation", "build_foundation"]


def build_foundation(settings: Settings) -> Foundation:
    databases = Databases(
        connect(settings.database_uri, app_name=settings.app_name),
        settings.database_prefix,
        FileUrls(f"{settings.files_url}/files/"),
        slow_seconds=settings.slow_query_ms / 1000 or inf,
    )
    return build_projects(
        databases,
        settings.secret,
        base_url=settings.base_url,
        default_id=settings.default_project_id,
        default_tier=settings.default_tier,
        audit_days=settings.audit_days,
    )
