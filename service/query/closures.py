"""Turns trees into functions of a `Reading`: the one evaluator in memory, which judges a record as MongoDB would.

`tests/query/test_matcher.py` and `scripts/fuzz matcher` compare it with MongoDB on random records and conditions.
"""

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from service.query.reading import PathValues, Reading, Search, find_bracket, fold, sort_by_bracket
from service.query.tree import All, AnyOf, Leaf, Tree, leaves
from service.schema.steps import Steps

Judge = Callable[[Reading], bool]
# Judges the values at one path.
Test = Callable[[PathValues], bool]


def compile_tree(tree: Tree) -> Judge:
    """Returns a function that is true if a stored record, as it is read, satisfies `tree`, which has no relations."""
    match tree:
        case Leaf():
            return _compile_leaf(tree)
        case All(parts):
            return _join(parts, until=False)
        case AnyOf(parts):
            return _join(parts, until=True)
        case bool():
            return lambda _reading: tree
    raise TypeError("a relation cannot be judged by the record alone")


def _join(parts: Iterable[Tree], *, until: bool) -> Judge:
    """The parts are judged one after the other until one of them is `until`."""
    judges = tuple(map(compile_tree, parts))

    def judge(reading: Reading) -> bool:
        for each in judges:
            if each(reading) is until:
                return until
        return not until

    return judge


def _compile_leaf(leaf: Leaf) -> Judge:
    path, test, negated = leaf.path, OPERATORS[leaf.operator](leaf.value), leaf.negated

    def judge(reading: Reading) -> bool:
        return test(reading.at(path)) is not negated

    return judge


def _has_one(wanted: Collection[Any]) -> Test:
    """Equality with one of `wanted`."""
    sets = sort_by_bracket(wanted)
    if len(sets) == 1:
        ((bracket, values),) = sets.items()
        if len(values) == 1:
            (value,) = values
            return lambda at: at.has(bracket, value)
    return lambda at: at.has_one(sets)


def _has_all(wanted: Collection[Any]) -> Test:
    """No record has all of no values."""
    sets = sort_by_bracket(wanted)
    if not sets or not all(find_bracket(type(value)) for value in wanted):
        return lambda _at: False
    return lambda at: at.has_all(sets)


def _not(make: Callable[[Any], Test]) -> Callable[[Any], Test]:
    def made(value: Any) -> Test:
        test = make(value)
        return lambda at: not test(at)

    return made


def _comparison(compare: Callable[[Any, Any], bool], extreme: int) -> Callable[[Any], Test]:
    """One value compares so where the least does (`extreme` 0), or the greatest (1)."""

    def made(bound: Any) -> Test:
        bracket = find_bracket(type(bound)) or ""

        def test(at: PathValues) -> bool:
            extremes = at.find_extremes(bracket)
            return extremes is not None and compare(extremes[extreme], bound)

        return test

    return made


def _same(wanted: Any) -> Test:
    return lambda at: any(_is_same(value, wanted) for value in at.found)


def _is_same(value: Any, other: Any) -> bool:
    """As MongoDB sees it: objects are equal whose fields are, in the same order."""
    match value, other:
        case None, None:
            return True
        case [*own], [*others]:
            return len(own) == len(others) and all(map(_is_same, own, others))
        case dict(), dict():
            return list(value) == list(other) and all(map(_is_same, value.values(), other.values()))
    bracket = find_bracket(type(value))
    return bracket is not None and bracket == find_bracket(type(other)) and bool(value == other)


def _find(search: Search) -> Test:
    return lambda at: at.contains(search)


def search_ahead(searches: Iterable[tuple[str, Search]], reading: Reading) -> Iterator[None]:
    """Searches the long texts that a tree looks at, one in each step, so that judging the tree is a short one."""
    for path, search in searches:
        if (at := reading.at(path)).is_long:
            at.contains(search)
            yield


def sort_ahead(paths: Iterable[str], reading: Reading) -> Iterator[None]:
    """Sorts the texts at paths whose beginnings are looked up; 50,000 of them take two steps of 10 ms."""
    for path in paths:
        at = reading.at(path)
        at.texts()
        yield
        at.has_start("")
        yield


def find_starts(tree: Tree) -> tuple[str, ...]:
    """The paths of a tree whose texts are looked up by their beginnings, each once."""
    found = (leaf for leaf in leaves(tree) if isinstance(leaf, Leaf) and leaf.operator == "startswith")
    return tuple(dict.fromkeys(leaf.path for leaf in found))


def find_searches(tree: Tree) -> tuple[tuple[str, Search], ...]:
    """The paths of a tree whose texts are searched, each with what for."""
    found = (leaf for leaf in leaves(tree) if isinstance(leaf, Leaf) and leaf.operator in SEARCHES)
    return tuple((leaf.path, SEARCHES[leaf.operator](leaf.value)) for leaf in found)


SEARCHES: Mapping[str, Callable[[str], Search]] = {
    "contains": Search,
    "icontains": lambda text: Search(fold(text), is_folded=True),
}

# The condition of each operator on the values at a path, made of the value that it compares them with.
OPERATORS: Mapping[str, Callable[[Any], Test]] = {
    "eq": lambda value: _has_one((value,)),
    "same": _same,
    "ne": _not(lambda value: _has_one((value,))),
    "gt": _comparison(operator.gt, 1),
    "gte": _comparison(operator.ge, 1),
    "lt": _comparison(operator.lt, 0),
    "lte": _comparison(operator.le, 0),
    "in": _has_one,
    "nin": _not(_has_one),
    "hasall": _has_all,
    "contains": lambda text: _find(SEARCHES["contains"](text)),
    "icontains": lambda text: _find(SEARCHES["icontains"](text)),
    "startswith": lambda text: lambda at: at.has_start(text),
    "isnull": lambda wanted: lambda at: at.is_null() is wanted,
}


def judge_in_steps(tree: Tree, reading: Reading) -> Steps[bool]:
    """As `compile_tree`; a step is one condition."""
    if not isinstance(tree, All | AnyOf):
        yield
        return compile_tree(tree)(reading)
    until = isinstance(tree, AnyOf)
    for part in tree.parts:
        if (yield from judge_in_steps(part, reading)) is until:
            return until
    return not until
