"""Counts the records that refer to each record of a page: `with_counts=comments,likes.liked`. Pure.

A name is a collection, or `<collection>.<relation>` where it refers to these records by several fields.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from service.bounds import MAX_COUNTED
from service.errors import Invalid, Violation
from service.query.commands import Command
from service.query.conditions import and_match, to_match
from service.query.matching import matching
from service.query.nodes import Match
from service.query.shapes import Shape
from service.schema.strict_json import shown

PLACE = ("query", "with_counts")


@dataclass(frozen=True, slots=True)
class CountedRelation:
    """The records of `collection` that satisfy `match` and have the id of the record they refer to at `path`.

    `name` is as the client sent it.
    """

    name: str
    collection: str
    path: str
    match: Match


def collection_of(name: str) -> str:
    """The declared name of the collection whose records are counted."""
    return name.partition(".")[0]


def bind_counts(
    names: Sequence[str], parent: Shape, find_shape: Callable[[str], Shape | None]
) -> tuple[CountedRelation, ...]:
    """The relations that `names` count for records of `parent`. `find_shape` gives collections as the caller sees them.

    Raises Invalid. A collection that the caller may not read is refused as one that is not there.
    """
    bound, violations = list[CountedRelation](), list[Violation]()
    for name in names:
        found = list(_find(name, parent, find_shape(collection_of(name))))
        if len(found) == 1:
            bound.append(found[0][1])
        else:
            violations.append(Violation(PLACE, _describe(name, [relation for relation, _ in found]), "value_error"))
    if violations:
        raise Invalid(violations)
    return tuple(bound)


def _find(name: str, parent: Shape, child: Shape | None) -> Iterator[tuple[str, CountedRelation]]:
    """The relations that `name` may mean, of those whose field the caller sees in some record."""
    collection, _, wanted = name.partition(".")
    if child is None:
        return
    for relation in child.relations() or ():
        target, field = child.relation(relation), child.field(tuple(child.local(relation).split(".")))
        if target is None or field is None or target.collection != parent.collection or wanted not in {"", relation}:
            continue
        match = and_match(child.match, to_match([field.guard]))
        yield f"{collection}.{relation}", CountedRelation(name, child.collection, field.path, match)


def _describe(name: str, found: Sequence[str]) -> str:
    if found:
        return f"{shown(name)} refers to these records by several fields: name one of {', '.join(found)}"
    return f"No collection {shown(name)} refers to these records"


def count_command(collection: str, ids: Sequence[str], counted: Sequence[CountedRelation]) -> Command:
    """A row `{_id, c0: [{n}], c1: [], ...}` for each record that is there: counts stop at one more than MAX_COUNTED."""
    lookups = [
        {
            "$lookup": {
                "from": each.collection,
                "localField": "_id",
                "foreignField": each.path,
                "pipeline": [*matching(each.match), {"$limit": MAX_COUNTED + 1}, {"$count": "n"}],
                "as": f"c{number}",
            }
        }
        for number, each in enumerate(counted)
    ]
    stages = [{"$match": {"_id": {"$in": list(ids)}}}, {"$project": {"_id": 1}}, *lookups]
    return {"aggregate": collection, "pipeline": stages, "cursor": {"batchSize": len(ids) + 1}}
