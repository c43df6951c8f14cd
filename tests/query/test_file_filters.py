"""Which filters also look for the names of files, and for which."""

import re
from typing import Any

import pytest

from service.query.file_filters import find_by_names
from service.query.nodes import Match, RelationMatch
from service.query.operators import OPERATORS
from service.query.tree import Leaf, Related, any_of, escape, leaves, negate, to_filter
from service.schema.file_urls import FileUrls
from service.schema.values import Kind

NAME = "demo-" + "0" * 32 + ".png"
URLS = FileUrls("https://a.example/files/")
URL = URLS.prefix + NAME


def translated(operator: str, text: str, path: str = "data.picture", collection: str = "users") -> Any:
    condition = OPERATORS[operator].from_text(path, Kind.ANY, text)
    (tree,) = find_by_names(Match(trees=(condition,)), collection, URLS).trees
    return to_filter(tree)[path]


@pytest.mark.parametrize(("operator", "key"), [("eq", "$in"), ("ne", "$nin"), ("in", "$in")])
def test_a_url_also_means_the_name(operator: str, key: str) -> None:
    assert translated(operator, URL) == {key: [URL, NAME]}
    assert translated(operator, "text") == {key: ["text"]}


@pytest.mark.parametrize(
    ("path", "collection"), [("data.picture", "c_things"), ("email", "users"), ("data.a.b", "users")]
)
def test_only_top_level_fields_of_users_hold_files(path: str, collection: str) -> None:
    assert translated("eq", URL, path, collection) == {"$in": [URL]}


@pytest.mark.parametrize("start", range(0, len(URL), 5))
@pytest.mark.parametrize("length", [1, 4, 9, 30, len(URL)])
@pytest.mark.parametrize("operator", ["contains", "icontains"])
def test_every_part_of_a_url_finds_the_name(operator: str, start: int, length: int) -> None:
    part = URL[start : start + length]
    pattern = translated(operator, part.swapcase() if operator == "icontains" else part)["$regex"]
    assert re.search(pattern, NAME, re.IGNORECASE if operator == "icontains" else 0)


@pytest.mark.parametrize("text", ["text", "/filez/", f"/files/x{NAME}", f"files{NAME}", "HTTPS", "b.example"])
def test_what_is_no_part_of_it_does_not(text: str) -> None:
    assert not re.search(translated("contains", text)["$regex"], NAME)


def test_conditions_on_related_users_are_translated_too() -> None:
    inner = Match(trees=(Leaf("data.picture", "in", (URL,)),))
    match = find_by_names(Match(relations=(RelationMatch("data.user_id", "users", inner),)), "c_things", URLS)
    assert match.relations[0].match.trees == (Leaf("data.picture", "in", (URL, NAME)),)


@pytest.mark.parametrize(
    ("operator", "value", "found"),
    [
        ("eq", URL, {"$in": [URL, NAME]}),
        ("ne", URL, {"$nin": [URL, NAME]}),
        ("in", ["a", URL], {"$in": ["a", URL, NAME]}),
        ("eq", "a", {"$eq": "a"}),
    ],
)
def test_typed_conditions_under_or_and_not_are_translated_too(operator: str, value: Any, found: Any) -> None:
    condition = OPERATORS[operator].from_json("data.picture", Kind.ANY, value)
    tree = any_of([negate(condition), Related("data.user_id", "users", condition)])
    (translated_,) = find_by_names(Match(trees=(tree,)), "users", URLS).trees
    own, related = leaves(translated_)
    assert isinstance(related, Related)
    assert to_filter(own) == {"data.picture": {"$not": found}}
    assert to_filter(related.tree) == {"data.picture": found}


def test_each_of_several_values_that_a_list_has_may_be_a_name() -> None:
    condition = OPERATORS["hasall"].from_json("data.pictures", Kind.ANY, ["a", URL])
    (tree,) = find_by_names(Match(trees=(condition,)), "users", URLS).trees
    assert to_filter(tree) == {"$and": [{"data.pictures": {"$eq": "a"}}, {"data.pictures": {"$in": [URL, NAME]}}]}
    (tree,) = find_by_names(Match(trees=(negate(condition),)), "users", URLS).trees
    assert [leaf.negated for leaf in leaves(tree) if isinstance(leaf, Leaf)] == [True, True]


@pytest.mark.parametrize("length", range(1, len(URL) + 1, 7))
def test_every_beginning_of_a_url_finds_the_name(length: int) -> None:
    assert re.search(translated("startswith", URL[:length])["$regex"], NAME)


@pytest.mark.parametrize("text", ["text", "files/", URL + "x", NAME[1:]])
def test_what_no_url_begins_with_stays_one_pattern_for_an_index(text: str) -> None:
    if not text.startswith(URLS.prefix):
        assert translated("startswith", text) == {"$regex": f"^{escape(text)}", "$options": ""}
    assert not re.search(translated("startswith", text)["$regex"], NAME)
