"""One look at a record: the values at each path are read once, however many conditions ask for them. Pure.

A `Reading` expands the record level by level, only where a condition looks. The values at a path are sorted into sets in one
pass, so that the values of the record and the conditions on it add up and do not multiply.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

Record = Mapping[str, Any]
T = TypeVar("T")
# Values that compare with one another, by their bracket.
Sets = Mapping[str, frozenset[Any]]


class _Absent:
    """The value of a field that a record lacks."""


ABSENT: Final = _Absent()
# The bracket of each type: values of different brackets are never equal or ordered. Booleans are no numbers here.
BRACKETS: Mapping[type, str | None] = {
    str: "text",
    int: "number",
    float: "number",
    bool: "boolean",
    datetime: "time",
    type(None): None,
    dict: None,
    list: None,
    _Absent: None,
}
# Characters past which a search in the texts of a path is a step of its own: it takes up to 50 µs.
LONG_TEXT = 16_384
# The texts at a path are joined by it for one search. No text that is searched for contains it.
SEPARATOR = "\0"
NONE: Final[frozenset[Any]] = frozenset()
# Small letters, and those that have the same capital.
SAME_LETTERS: Final = tuple(
    zip(
        "\u0131\u017f\u03b9\u03bc\u03c3\u03d0\u03d1\u03d5\u03d6\u03f0\u03f1\u03f5\u1c80\u1c81\u1c82\u1c83\u1c84\u1c85"
        "\u1c86\u1c87\u1e9b\u1fbe\u1fd3\u1fe3\ua64b\ufb06",
        "is\u0345\u00b5\u03c2\u03b2\u03b8\u03c6\u03c0\u03ba\u03c1\u03b5\u0432\u0434\u043e\u0441\u0442\u0442"
        "\u044a\u0463\u1e61\u0345\u0390\u03b0\u1c88\ufb05",
        strict=True,
    )
)


def find_bracket(kind: type) -> str | None:
    """The bracket of a type; None for one whose values no condition compares, as an object."""
    return BRACKETS[kind] if kind in BRACKETS else _find_bracket_of_subclass(kind)


def _find_bracket_of_subclass(kind: type) -> str | None:
    return next((bracket for known, bracket in BRACKETS.items() if bracket and issubclass(kind, known)), None)


def sort_by_bracket(values: Collection[Any]) -> Sets:
    """The values that conditions compare, each once, by their bracket."""
    sets: dict[str, frozenset[Any]] = {}
    kinds = set(map(type, values))
    for kind in kinds:
        if (bracket := find_bracket(kind)) is not None:
            same = values if len(kinds) == 1 else [value for value in values if type(value) is kind]
            sets[bracket] = sets.get(bracket, NONE).union(same)
    return sets


@dataclass(frozen=True, slots=True)
class Search:
    """A text that is looked for in others; in any case where `is_folded`, and then `text` is folded."""

    text: str
    is_folded: bool = False


def fold(text: str) -> str:
    """Two texts are the same in any case where this is equal, letter by letter, as `re.IGNORECASE` compares them.

    A pattern is no way to compare them: it takes as long as the text times what is looked for.
    """
    if text.isascii():
        return text.lower()
    # The only letter of which Python makes two.
    folded = text.replace("\u0130", "i").lower()
    for letter, same in SAME_LETTERS:
        folded = folded.replace(letter, same)
    return folded


class SingleValue:
    """The value at a path without arrays; ABSENT if the record lacks the field."""

    __slots__ = ("bracket", "value")
    is_long = False

    def __init__(self, value: Any) -> None:
        self.value = value
        self.bracket = find_bracket(type(value))

    @property
    def found(self) -> list[Any]:
        return [self.value]

    def each(self) -> Iterator[Any]:
        yield self.value

    def child(self, name: str) -> "PathValues":
        value = self.value
        if isinstance(value, Mapping) and name in value:
            return read_value(value[name])
        return MISSING

    def has(self, bracket: str, value: Any) -> bool:
        """True if one of the compared values is equal to `value`, which is of `bracket`."""
        return self.bracket == bracket and bool(self.value == value)

    def has_one(self, wanted: Sets) -> bool:
        return self.bracket is not None and self.value in wanted.get(self.bracket, NONE)

    def has_all(self, wanted: Sets) -> bool:
        return self.has_one(wanted) and sum(map(len, wanted.values())) == 1

    def look_up(self, index: Mapping[str, Mapping[Any, T]]) -> Iterable[T]:
        """The entries of the values in an index by bracket and value."""
        by_value = index.get(self.bracket or "")
        return (by_value[self.value],) if by_value is not None and self.value in by_value else ()

    def find_extremes(self, bracket: str) -> tuple[Any, Any] | None:
        """The least and the greatest of the values of a bracket; None without any."""
        return (self.value, self.value) if self.bracket == bracket else None

    def is_null(self) -> bool:
        """True if the field is null or absent, and no array."""
        return self.value is None or self.value is ABSENT

    @property
    def text(self) -> str:
        """All texts in one, for a search in them."""
        return self.value if isinstance(self.value, str) else ""

    @property
    def folded(self) -> str:
        return fold(self.text)

    def contains(self, search: Search) -> bool:
        return search.text in (self.folded if search.is_folded else self.text)

    def texts(self) -> Collection[str]:
        """The texts, each once."""
        return (self.value,) if isinstance(self.value, str) else ()

    def has_start(self, start: str) -> bool:
        """True if one of the texts begins with `start`."""
        return self.text.startswith(start)


class LongText(SingleValue):
    """A text in which a search takes as long as hundreds of other conditions, so that what was found is remembered."""

    __slots__ = ("_folded", "_known")
    is_long = True

    def __init__(self, value: str) -> None:
        super().__init__(value)
        self._folded: str | None = None
        self._known: dict[Search, bool] = {}

    @property
    def folded(self) -> str:
        if self._folded is None:
            self._folded = fold(self.text)
        return self._folded

    def contains(self, search: Search) -> bool:
        if search not in self._known:
            self._known[search] = super().contains(search)
        return self._known[search]


class ManyValues:
    """An array at a path, or the values that the elements of an array on the way have there.

    `found` has them as they are stored, an array as one value; ABSENT stands for all objects that lack the field. Conditions
    compare these values, and the elements of those that are arrays. Each view of them is made when it is first asked for.
    """

    __slots__ = ("_children", "_extremes", "_is_null", "_joined", "_ordered", "_sets", "found")

    def __init__(self, found: list[Any]) -> None:
        self.found = found
        self._sets: Sets | None = None
        self._extremes: dict[str, tuple[Any, Any]] = {}
        self._children: _Children | None = None
        self._is_null: bool | None = None
        self._joined: LongText | None = None
        self._ordered: list[str] | None = None

    def each(self) -> Iterator[Any]:
        """The values, and the elements of those that are arrays."""
        for value in self.found:
            yield value
            if isinstance(value, list):
                yield from value

    def _flat(self) -> list[Any]:
        """As `each`, without the arrays themselves, which no condition compares; it takes less time for many values."""
        flat = list[Any]()
        for value in self.found:
            if isinstance(value, list):
                flat += value
            else:
                flat.append(value)
        return flat

    def child(self, name: str) -> "PathValues":
        """The values of the field `name`, of the objects here and of those that are elements of arrays here."""
        if self._children is None:
            self._children = _Children(self.found)
        return self._children.get(name)

    @property
    def sets(self) -> Sets:
        if self._sets is None:
            self._sets = sort_by_bracket(self._flat())
        return self._sets

    def has(self, bracket: str, value: Any) -> bool:
        return bracket in self.sets and value in self.sets[bracket]

    def has_one(self, wanted: Sets) -> bool:
        """It costs as much as the fewer of the two, the values wanted and those here."""
        sets = self.sets
        return any(bracket in sets and not values.isdisjoint(sets[bracket]) for bracket, values in wanted.items())

    def has_all(self, wanted: Sets) -> bool:
        return all(values <= self.sets.get(bracket, NONE) for bracket, values in wanted.items())

    def look_up(self, index: Mapping[str, Mapping[Any, T]]) -> Iterable[T]:
        for bracket, by_value in index.items():
            values = self.sets.get(bracket, NONE)
            # CPython iterates over the argument of `intersection`, and over the right side of `&`: the smaller one
            # stands there.
            common = values.intersection(by_value) if len(by_value) < len(values) else by_value.keys() & values
            for value in common:
                yield by_value[value]

    def find_extremes(self, bracket: str) -> tuple[Any, Any] | None:
        if bracket not in self._extremes and bracket in self.sets:
            self._extremes[bracket] = min(self.sets[bracket]), max(self.sets[bracket])
        return self._extremes.get(bracket)

    def is_null(self) -> bool:
        if self._is_null is None:
            found = self.found
            self._is_null = any(value is None or value is ABSENT for value in found) and list not in map(type, found)
        return self._is_null

    def texts(self) -> Collection[str]:
        texts: Collection[str] = self.sets.get("text", NONE)
        return texts

    @property
    def joined(self) -> SingleValue:
        """The texts as one, in which searches are remembered."""
        if self._joined is None:
            self._joined = LongText(SEPARATOR.join(self.sets.get("text", NONE)))
        return self._joined

    @property
    def is_long(self) -> bool:
        return len(self.joined.text) > LONG_TEXT

    def contains(self, search: Search) -> bool:
        return self.joined.contains(search)

    def has_start(self, start: str) -> bool:
        """The texts are sorted once, so that many beginnings can be looked up."""
        if self._ordered is None:
            self._ordered = sorted(self.sets.get("text", NONE))
        at = bisect_left(self._ordered, start)
        return at < len(self._ordered) and self._ordered[at].startswith(start)


PathValues = SingleValue | ManyValues
MISSING: Final = SingleValue(ABSENT)


def read_value(value: Any) -> PathValues:
    if isinstance(value, str) and len(value) > LONG_TEXT:
        return LongText(value)
    return ManyValues([value]) if isinstance(value, list) else SingleValue(value)


class _Children:
    """The values of every name in some objects, collected in one pass whichever names are asked for.

    MongoDB looks through one level of an array on the way, and passes over the elements of it that are no objects.
    """

    def __init__(self, found: Iterable[Any]) -> None:
        self._values: defaultdict[str, list[Any]] = defaultdict(list)
        self._objects = 0
        self._is_absent = False
        for value in found:
            if isinstance(value, list):
                self._add(each for each in value if isinstance(each, dict))
            elif isinstance(value, dict):
                self._add((value,))
            else:
                self._is_absent = True

    def _add(self, objects: Iterable[Mapping[str, Any]]) -> None:
        for each in objects:
            self._objects += 1
            for name, value in each.items():
                self._values[name].append(value)

    def get(self, name: str) -> PathValues:
        """An empty array on the way has no element that could lack the field."""
        values = self._values.get(name, [])
        if not self._is_absent and len(values) == self._objects:
            return ManyValues(values)
        return ManyValues([*values, ABSENT]) if values else MISSING


class Reading:
    """A record, and the values at each path of it that a condition has asked for."""

    __slots__ = ("_found", "record")

    def __init__(self, record: Record) -> None:
        self.record = record
        self._found: dict[str, PathValues] = {}

    def at(self, path: str) -> PathValues:
        """The values at a dotted path."""
        found = self._found.get(path)
        if found is None:
            found = self._found[path] = self._read(path)
        return found

    def _read(self, path: str) -> PathValues:
        """Most records have objects on the way, and nothing else; all others are expanded level by level."""
        value: Any = self.record
        for name in path.split("."):
            if type(value) is not dict or name not in value:
                parent, _, last = path.rpartition(".")
                return (self.at(parent) if parent else SingleValue(self.record)).child(last)
            value = value[name]
        return read_value(value)
