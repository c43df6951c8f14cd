"""Declared collections and changes of their schemas."""

from service.domain.access.control import AccessControl
from service.domain.audit.audit import Audit
from service.domain.collections.catalog import Catalogs
from service.domain.collections.collections import Collections
from service.domain.collections.pattern_judge import PatternJudge
from service.domain.limits.limiter import Limits


def build_collections(access: AccessControl, limits: Limits, audit: Audit) -> Collections:
    return Collections(Catalogs(), PatternJudge(), access, limits, audit)
