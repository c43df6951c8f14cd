"""The records of a collection as one caller may see them, in the form that queries use. Pure.

A field that the caller may not read has no name: it is answered as a field that does not exist. In collections that is
a refusal. In users, whose data is free-form, any name may be queried, so a hidden field behaves as one that no user
has.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from service.query.account_shape import PROFILES
from service.query.reading import Reading
from service.query.shapes import DocumentShape, Shape, ShapeField, UserShape, hidden_field
from service.query.tree import Tree
from service.rules.permissions import Permissions

Record = dict[str, Any]
# A declared name and its shape → the shape as the caller sees it; None where the caller sees nothing of it.
Seen = Callable[[str, Shape], Shape | None]


class VisibleDocuments:
    """The documents of `shape`, whose relations lead to shapes that are as visible to the caller."""

    def __init__(self, shape: DocumentShape, permissions: Permissions) -> None:
        self._shape = shape
        self._permissions = permissions
        self.collection = shape.collection
        self.listed: Sequence[str] = shape.listed
        self.related: Sequence[str] = shape.related
        self.nested = shape.nested
        self.match = permissions.match
        self.view = self._view if permissions.readable else None

    def names(self) -> Iterable[str]:
        return (name for name in self._shape.names() if self.field((name,)) is not None)

    def field(self, path: tuple[str, ...]) -> ShapeField | None:
        found = self._shape.field(path)
        return _guarded(found, self._permissions) if found is not None else None

    def sort_field(self, path: tuple[str, ...]) -> ShapeField | None:
        found = self.field(path)
        return found if found is not None and found.guard is True else None

    def relation(self, name: str) -> Shape | None:
        """None also where the id of the relation cannot be seen, or where no record of the target can be read."""
        if self.field(tuple(self.local(name).split("."))) is None:
            return None
        return self._shape.relation(name)

    def local(self, name: str) -> str:
        return self._shape.local(name)

    def relations(self) -> Sequence[str]:
        return [name for name in self._shape.relations() if self.relation(name) is not None]

    def _view(self, record: Record) -> Record:
        return {**record, "data": self._visible(Reading(record))}

    @cached_property
    def _visible(self) -> Callable[[Reading], Record]:
        return self._permissions.make_view()


class VisibleUsers:
    """Users as a caller may see them: `id` and times, and of the rest what the rules give."""

    collection = UserShape.collection
    listed = (*UserShape.listed, "updated_at")
    related = UserShape.related
    nested = PROFILES.nested

    def __init__(self, shape: UserShape, permissions: Permissions) -> None:
        self._shape = shape
        self._permissions = permissions
        self.match = permissions.match
        self.view = self._view

    def names(self) -> Iterable[str]:
        return self._shape.named

    def field(self, path: tuple[str, ...]) -> ShapeField:
        return _guarded(self._shape.field(path), self._permissions) or hidden_field(path)

    def sort_field(self, path: tuple[str, ...]) -> ShapeField:
        found = self.field(path)
        return found if found.guard is True else hidden_field(path)

    def relation(self, name: str) -> "VisibleUsers":  # noqa: ARG002 - any name may be a relation
        return self

    def local(self, name: str) -> str:
        return self._shape.local(name)

    def relations(self) -> None:
        return None

    def _view(self, record: Record) -> Record:
        return self._visible(Reading(record))

    @cached_property
    def _visible(self) -> Callable[[Reading], Record]:
        return self._permissions.make_user_view()


def make_seen(known: Mapping[str, Permissions | None]) -> Seen:
    """Shows shapes by the permissions of their collections; a collection without any is hidden."""

    def seen(name: str, shape: Shape) -> Shape | None:
        permissions = known.get(name)
        return None if permissions is None or permissions.read is False else see_shape(shape, permissions)

    return seen


def see_shape(shape: Shape, permissions: Permissions) -> Shape:
    """The part of the shape that these permissions let a caller see."""
    if permissions.is_everything:
        return shape
    if isinstance(shape, DocumentShape):
        return VisibleDocuments(shape, permissions)
    return VisibleUsers(PROFILES, permissions)


def _guarded(found: ShapeField, permissions: Permissions) -> ShapeField | None:
    """The field with the condition under which it may be seen; None where it may in no record."""
    guard: Tree = permissions.guard(found.path)
    if guard is True or guard is False:
        return found if guard else None
    return replace(found, guard=guard)
