"""The permissions of operators: areas, roles by project, and scopes of tokens. Pure.

A role grants a level in each area of its projects; a scope of a token, `shop:schema:write`, narrows what the roles of its
maker grant.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

Area = Literal["data", "schema", "users", "config", "logs", "deployment"]
# Rows that every operator may call, and rows that need a session of the console.
Reach = Area | Literal["any", "session"]
Level = Literal["read", "write"]
Role = Literal["viewer", "editor", "admin", "owner"]
Grants = Mapping[Area, Level]

EVERY = "*"
# From the weakest to the strongest.
ROLES: tuple[Role, ...] = ("viewer", "editor", "admin", "owner")
AREAS: tuple[Area, ...] = ("data", "schema", "users", "config", "logs", "deployment")
OF_PROJECTS = AREAS[:-1]
VIEWER: Grants = dict.fromkeys(OF_PROJECTS, "read")
EDITOR: Grants = {**VIEWER, "data": "write"}
ADMIN: Grants = {**EDITOR, "schema": "write", "users": "write", "config": "write"}
OWNER: Grants = {**ADMIN, "deployment": "write"}
GRANTS: Mapping[Role, Grants] = {"viewer": VIEWER, "editor": EDITOR, "admin": ADMIN, "owner": OWNER}
NOTHING: Grants = {}
SCOPE = re.compile(
    rf"(?P<project>\*|[a-z0-9](?:[a-z0-9-]{{0,38}}[a-z0-9])?):(?P<area>\*|{'|'.join(AREAS)}):(?P<level>read|write)"
)


@dataclass(frozen=True, slots=True)
class Access:
    """The permission that a row needs: `level` in `area`, or in `other`.

    `confirm`: the session was confirmed within the last 10 minutes. Without `by_token` no token will do. An `audited` read
    leaves an entry in the audit log, as a write of data does.
    """

    area: Reach
    level: Level
    confirm: bool = False
    other: Area | None = None
    by_token: bool = True
    audited: bool = False

    @property
    def is_noted(self) -> bool:
        """True if each call has an entry of its own; configuration is recorded by the domain, with its changes."""
        return self.audited or (self.level == "write" and self.area in ("data", "users"))

    @property
    def areas(self) -> tuple[Area, ...]:
        """The areas of which one suffices."""
        return (cast(Area, self.area),) if self.other is None else (cast(Area, self.area), self.other)


@dataclass(frozen=True, slots=True)
class Scope:
    """A part of what its maker may do: `level` in `area` of `project`; `*` stands for all of them."""

    project: str
    area: str
    level: Level

    def covers(self, project: str, area: Area, level: Level) -> bool:
        return (
            self.project in (EVERY, project)
            and self.area in (EVERY, area)
            and includes(self.level, level)
            and (area != "deployment" or self.project == EVERY)
        )


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of one request: the roles of its operator, and the scopes of its token. A session has no scopes."""

    roles: Mapping[str, Role]
    scopes: tuple[Scope, ...] | None = None

    def role_in(self, project: str) -> Role | None:
        """The stronger of the role in `project` and the role in all projects."""
        return stronger(self.roles.get(project), self.roles.get(EVERY))

    def allows(self, project: str, area: Area, level: Level) -> bool:
        """True if `level` is granted in `area` of `project`, where `*` stands for the deployment."""
        if area == "deployment":
            project = EVERY
        role = self.role_in(project)
        granted = GRANTS[role].get(area) if role is not None else None
        if granted is None or not includes(granted, level):
            return False
        return self.scopes is None or any(scope.covers(project, area, level) for scope in self.scopes)

    def names(self, project: str, area: Area, level: Level) -> bool:
        """True if a scope that grants this names the area itself, which confirms what needs confirmation."""
        if area == "deployment":
            project = EVERY
        return any(scope.area == area and scope.covers(project, area, level) for scope in self.scopes or ())

    def holds(self, scope: Scope) -> bool:
        """True if these roles grant `scope`. Its `*` for the area stands for the areas that they grant."""
        role = self.role_in(scope.project)
        grants = GRANTS[role] if role is not None else NOTHING
        if scope.area == EVERY:
            return any(includes(level, scope.level) for level in grants.values())
        if scope.area == "deployment" and scope.project != EVERY:
            return False
        granted = grants.get(cast(Area, scope.area))
        return granted is not None and includes(granted, scope.level)


def includes(granted: Level, wanted: Level) -> bool:
    """A right to write includes the right to read."""
    return granted == "write" or wanted == "read"


def stronger(one: Role | None, other: Role | None) -> Role | None:
    """The stronger of two roles; None where neither is given."""
    return max((role for role in (one, other) if role is not None), key=ROLES.index, default=None)


def list_access(roles: Mapping[str, Role]) -> dict[str, Grants]:
    """The granted levels by project, `*` for all others, and by area; areas without a grant are left out."""
    rights = Rights(roles)
    found = {project: rights.role_in(project) for project in roles}
    access = {project: dict(GRANTS[role]) for project, role in found.items() if role is not None}
    for project in access.keys() - {EVERY}:
        access[project].pop("deployment", None)
    return dict(access)


def read_scope(text: str) -> Scope | None:
    """`shop:schema:write` as a Scope; None where the text is no scope."""
    found = SCOPE.fullmatch(text)
    return Scope(found["project"], found["area"], cast(Level, found["level"])) if found else None
