"""Filters on users' file fields: what is, or is part of, a file's URL also means the name that the record keeps. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from service.query.bind import USERS
from service.query.nodes import Match
from service.query.operators import Filter, escape
from service.schema.file_urls import NAME, FileUrls

DATA_FIELD = re.compile(r"data\.[^.]+")


def find_by_names(match: Match, collection: str, urls: FileUrls) -> Match:
    """`match`, on records of `collection`, as it finds users whose files have the URLs that it speaks of."""
    if not match.filters and not match.relations:
        return match
    filters = (
        tuple(_with_names(each, urls) for each in match.filters) if collection == USERS.collection else match.filters
    )
    relations = (replace(each, match=find_by_names(each.match, each.collection, urls)) for each in match.relations)
    return replace(match, filters=filters, relations=tuple(relations))


def _with_names(filter_: Filter, urls: FileUrls) -> Filter:
    ((path, condition),) = filter_.items()
    if not DATA_FIELD.fullmatch(path):
        return filter_
    match condition:
        case {"$in": values}:
            return {path: {"$in": _values(values, urls)}}
        case {"$nin": values}:
            return {path: {"$nin": _values(values, urls)}}
        case {"$regex": pattern, "$options": options}:
            return {path: {"$regex": _pattern(pattern, urls.prefix, options), "$options": options}}
    return filter_


def _values(values: Sequence[Any], urls: FileUrls) -> list[Any]:
    names = (urls.name(value) for value in values if isinstance(value, str))
    return [*values, *(name for name in names if name is not None)]


def _pattern(pattern: str, prefix: str, options: str) -> str:
    """`pattern`, or a file name that has, behind `prefix`, the text that `pattern` looks for."""
    text = re.sub(r"\\(.)", r"\1", pattern, flags=re.DOTALL)
    same_case = (text.lower(), prefix.lower()) if "i" in options else (text, prefix)
    return "|".join((pattern, *_name_patterns(text, *same_case)))


def _name_patterns(text: str, comparable: str, prefix: str) -> Iterator[str]:
    """`s/demo-1` behind `http://a.example/files/`: names that begin with `demo-1`. A part of the prefix: all names."""
    if comparable in prefix:
        yield f"^{NAME}$"
    for length in range(1, len(text)):
        if prefix.endswith(comparable[:length]):
            yield f"^(?={NAME}$){escape(text[length:])}"
