"""The relations that the keys of an aggregation follow: each once, however many keys go along it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from service.query.aggregate.expressions import Expression, id_of, shown_file
from service.query.aggregate.nodes import BoundKey, Hop
from service.query.matching import matching

Stage = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of the records, or of those that `parent` leads to. `keys` are the positions of the keys that end here."""

    number: int
    hop: Hop
    parent: int | None
    keys: tuple[int, ...]


def find_relations(keys: Sequence[BoundKey]) -> list[Relation]:
    """All of them, each after its parent."""
    numbers: dict[tuple[str, ...], int] = {}
    hops: list[tuple[Hop, int | None]] = []
    for key in keys:
        path: tuple[str, ...] = ()
        for hop in key.hops:
            parent, path = numbers.get(path), (*path, hop.local)
            if path not in numbers:
                numbers[path] = len(hops)
                hops.append((hop, parent))
    ends = [numbers.get(tuple(hop.local for hop in key.hops)) for key in keys]
    return [
        Relation(number, hop, parent, tuple(place for place, end in enumerate(ends) if end == number))
        for number, (hop, parent) in enumerate(hops)
    ]


def look_up(relation: Relation, local: str, name: str) -> Stage:
    """Puts the record, if it is there, into the array `name`."""
    inner = matching(relation.hop.match)
    pipeline = {"pipeline": inner} if inner else {}
    from_ = relation.hop.collection
    return {"$lookup": {"from": from_, "localField": local, "foreignField": "_id", **pipeline, "as": name}}


def look_up_in_records(relation: Relation, name: Callable[[int], str]) -> list[Stage]:
    """The same in each record; `name` says where the records of a relation stand."""
    record = "" if relation.parent is None else f"{name(relation.parent)}."
    if relation.hop.is_declared:
        return [look_up(relation, f"{record}{relation.hop.local}", name(relation.number))]
    id_ = f"i{relation.number}"
    return [{"$set": {id_: id_in(relation, record)}}, look_up(relation, id_, name(relation.number))]


def id_in(relation: Relation, record: str = "") -> Expression:
    """The id that the relation goes by, in the records themselves, or in the one in the array `record`."""
    path = f"${record}{relation.hop.local}"
    return id_of({"$first": path} if record else path, is_declared=relation.hop.is_declared)


def value_in(key: BoundKey, record: str, prefix: str) -> Expression:
    """The expression of a key's value, of the one record in the array `record`."""
    value = {"$first": f"${record}{key.path}"}
    if not key.is_file:
        return value
    name = {"$first": f"${record}files.{key.path.removeprefix('data.')}"}
    return {"$let": {"vars": {"it": value}, "in": shown_file("$$it", name, prefix)}}
