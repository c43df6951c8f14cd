"""The schema of users' profiles, which a project may declare."""

from service.domain.collections.collections import Collections
from service.domain.profiles.profiles import Profiles
from service.domain.projects import Foundation


def build_profiles(base: Foundation, collections: Collections) -> Profiles:
    return Profiles(base.projects, base.audit, collections.judge)
