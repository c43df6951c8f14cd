"""Filters on users' file fields: a file's URL, or a part of it, also matches the name that the record keeps. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from service.query.matcher import decide
from service.query.nodes import Match
from service.query.shapes import USERS
from service.query.tree import Leaf, Node, Related, Tree, all_of, escape, negate
from service.schema.file_urls import NAME, FileUrls

DATA_FIELD = re.compile(r"data\.[^.]+")
# The operators that compare whole values, each with its form for several values.
WHOLE = {"eq": "in", "in": "in", "ne": "nin", "nin": "nin"}


def find_by_names(match: Match, collection: str, urls: FileUrls) -> Match:
    """`match`, on records of `collection`, as it finds users whose files have the URLs that it speaks of."""
    if not match.trees and not match.relations:
        return match
    trees = tuple(_translate(tree, collection, urls) for tree in match.trees)
    if trees == match.trees and not match.relations:
        return match
    relations = (replace(each, match=find_by_names(each.match, each.collection, urls)) for each in match.relations)
    return Match(match.filters, tuple(relations), trees)


def _translate(tree: Tree, collection: str, urls: FileUrls) -> Tree:
    if isinstance(tree, Leaf):
        return _with_names(tree, urls) if collection == USERS.collection else tree

    def with_names(leaf: Node) -> Tree:
        if isinstance(leaf, Related):
            return replace(leaf, tree=_translate(leaf.tree, leaf.collection, urls))
        return _with_names(leaf, urls) if isinstance(leaf, Leaf) and collection == USERS.collection else leaf

    return with_names(tree) if isinstance(tree, Leaf) else decide(tree, with_names)


def _with_names(leaf: Leaf, urls: FileUrls) -> Tree:
    if not DATA_FIELD.fullmatch(leaf.path):
        return leaf
    if leaf.operator == "hasall" and any(_names(leaf.value, urls)):
        every = all_of(_with_names(Leaf(leaf.path, "eq", value), urls) for value in leaf.value)
        return negate(every) if leaf.negated else every
    if leaf.operator in WHOLE:
        values = leaf.value if isinstance(leaf.value, tuple) else (leaf.value,)
        names = tuple(_names(values, urls))
        return replace(leaf, operator=WHOLE[leaf.operator], value=(*values, *names)) if names else leaf
    match leaf.operator:
        case "contains":
            patterns, options = _part_patterns(leaf.value, leaf.value, urls.prefix), ""
        case "icontains":
            patterns, options = _part_patterns(leaf.value, leaf.value.lower(), urls.prefix.lower()), "i"
        case "startswith":
            patterns, options = _start_patterns(leaf.value, urls.prefix), ""
        case _:
            return leaf
    found = "|".join(patterns)
    return replace(leaf, operator="pattern", value=(found, options)) if found else leaf


def _names(values: Sequence[Any], urls: FileUrls) -> Iterator[str]:
    found = (urls.name(value) for value in values if isinstance(value, str) and value.startswith(urls.prefix))
    return (name for name in found if name is not None)


def _part_patterns(text: str, comparable: str, prefix: str) -> Iterator[str]:
    """`s/demo-1` behind `http://a.example/files/`: names that begin with `demo-1`. A part of the prefix: all names."""
    yield escape(text)
    if comparable in prefix:
        yield f"^{NAME}$"
    for length in range(1, len(text)):
        if prefix.endswith(comparable[:length]):
            yield f"^(?={NAME}$){escape(text[length:])}"


def _start_patterns(text: str, prefix: str) -> Iterator[str]:
    """None where no URL begins so, for an index serves a single pattern only."""
    if prefix.startswith(text):
        yield from (f"^{escape(text)}", f"^{NAME}$")
    elif text.startswith(prefix):
        yield from (f"^{escape(text)}", f"^(?={NAME}$){escape(text.removeprefix(prefix))}")
