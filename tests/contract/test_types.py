"""Generated types: the golden texts byte for byte, their names, and the work that they take."""

import itertools
import json
import sys
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from service.bounds import MAX_CONTRACT_BYTES
from service.contract.json_types import row_schema
from service.contract.model import Contract, View
from service.contract.names import make_names, name_parts
from service.contract.python import write_python
from service.contract.typescript import write_typescript
from service.contract.written import WrittenTypes
from service.errors import TooLarge
from tests.contract.declared import GOLDEN, NAMES, declared, golden

WRITERS = [write_typescript, write_python]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("write", "ending"), [(write_typescript, "ts"), (write_python, "py.txt")])
def test_the_golden_texts_are_made_byte_for_byte(name: str, write: Any, ending: str) -> None:
    assert write(golden(name)).text.encode() == (GOLDEN / f"{name}.{ending}").read_bytes()


@pytest.mark.parametrize("write", WRITERS)
def test_k2_the_order_of_creation_changes_nothing(write: Any) -> None:
    schemas = json.loads((GOLDEN / "hostile.json").read_text())["collections"]
    turned = dict(reversed(schemas.items()))
    assert write(declared(turned)).text == write(declared(schemas)).text


def test_k2_names_of_types_are_distinct_in_lower_case() -> None:
    names = [
        "my-books",
        "my_books",
        "new_books",
        "Books",
        "books",
        "schema",
        "any",
        "books-keys",
        "x",
        "x-ref",
        "Users",
    ]
    made = make_names(names)
    every = [f"{before}{name}{after}" for name in made.values() for before, after in (("", ""), ("New", ""))]
    every += [f"{name}{after}" for name in made.values() for after in ("Keys", "Where", "Ref")]
    assert len({each.lower() for each in every}) == len(every)
    assert made["x"].startswith("X_")
    assert made["Users"].startswith("Users_")


@pytest.mark.parametrize(
    "name", ["none", "true", "False", "record", "id", "Sequence", "typed-dict", "user", "new-user"]
)
def test_a_name_that_the_text_needs_is_no_name_of_a_type(name: str) -> None:
    assert len(make_names([name])[name].rpartition("_")[2]) == 6


def test_parts_of_nested_names_are_distinct() -> None:
    fields = ["exit 7", "exit-7", "exit70", "", "3", "_", "a", "A1", "a-1"]
    parts = name_parts({name: place for place, name in enumerate(fields)})
    assert len(set(parts.values())) == len(fields)
    assert parts["a"] == "A"


@pytest.mark.parametrize("write", WRITERS)
def test_no_relation_is_filtered_by_a_name_that_means_another_condition(write: Any) -> None:
    target = {"type": "reference", "collection": "a"}
    text = write(declared({"a": {"x": {"type": "string"}, "x_eq_id": target, "data_id": target, "or_id": target}})).text
    filters = text[text.index("Keys") :]
    assert "x_eq?: AKeys" not in filters
    assert '"x_eq": AKeys' not in filters
    assert "data?: AKeys" not in filters


@pytest.mark.parametrize("write", WRITERS)
def test_a_field_with_the_name_of_the_records_own_is_filtered_inside_data(write: Any) -> None:
    text = write(declared({"a": {"id": {"type": "integer"}, "created_at": {"type": "string"}}})).text
    assert "data.id" in text
    assert "data.created_at" in text


@pytest.mark.parametrize("write", WRITERS)
def test_declared_profiles_without_further_fields_take_no_others(write: Any) -> None:
    profile = {"plan": {"type": "string", "enum": ["free"]}, "friend_id": {"type": "reference", "collection": "users"}}
    open_, closed = (write(declared({}, profile=profile, additional=each)).text for each in (True, False))
    assert ("Keys.Free" in open_, "[field: string]" in open_) == (write is write_typescript,) * 2
    assert "[field: string]" not in closed
    assert "friend" in closed


@pytest.mark.parametrize("write", WRITERS)
def test_a_text_past_its_bytes_is_refused_while_it_is_made(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = {f"f{number}": {"type": "string"} for number in range(100)}
    many = declared({f"c{number}": wide for number in range(40)})
    monkeypatch.setattr("service.contract.written.MAX_CONTRACT_BYTES", MAX_CONTRACT_BYTES // 512)

    def refuse() -> None:
        with pytest.raises(TooLarge):
            write(many)

    lines = count_lines(refuse)
    monkeypatch.undo()
    assert lines * 4 < count_lines(lambda: write(many))


@pytest.mark.parametrize("write", WRITERS)
def test_the_work_is_linear_in_the_definitions(write: Any) -> None:
    one, four = (count_lines(partial(write, large(number))) for number in (5, 20))
    assert four <= 5 * one


def large(collections: int) -> Contract:
    fields: dict[str, Any] = {f"field {number}": {"type": "string"} for number in range(20)}
    fields |= {f"r{number}_id": {"type": "reference", "collection": f"c{number}"} for number in range(3)}
    inner = {name: {"type": "object", "properties": {"x": {"type": "integer"}}} for name in "abc"}
    return declared({f"c{number}": {**fields, **inner} for number in range(collections)})


def count_lines(work: Any) -> int:
    """The lines of our own code that `work` runs: its cost, whatever the machine does beside."""
    counted = itertools.count()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if "/service/contract/" not in frame.f_code.co_filename:
            return None
        if event == "line":
            next(counted)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return next(counted)


def test_each_text_names_its_parts() -> None:
    found: list[WrittenTypes] = [write(golden("shop")) for write in WRITERS]
    for written in found:
        assert written.parts.keys() == {"users", "makers", "order-lines", "products"}
        assert all(part in written.text for parts in written.parts.values() for part in parts)
    assert Path(GOLDEN / "shop.ts").read_text() == found[0].text


ARRAYS: dict[str, Any] = {
    "tags": {"name": {"type": "string", "required": True}},
    "posts": {"tag_ids": {"type": "array", "items": {"type": "reference", "collection": "tags"}}},
}


def test_an_array_of_references_is_a_relation_to_a_list() -> None:
    found = declared(ARRAYS)
    typescript, python = write_typescript(found).text, write_python(found).text
    assert 'tag_ids?: Id<"tags">[];' in typescript
    assert "tags?: TagsKeys;" in typescript
    assert '"tag_ids": NotRequired[list[Id]]' in python
    assert '"tags": NotRequired["list[Related[Tags]]"]' in python
    assert '"tags": TagsKeys' in python
    posts = next(each for each in found.collections if each.name == "posts")
    assert row_schema(posts, found)["properties"]["tags"]["type"] == "array"


def test_an_array_of_references_to_a_hidden_collection_is_absent() -> None:
    contract = declared(ARRAYS, {"collections": {"posts": {"read": "anyone"}}}, View.ANYONE)
    assert "tag_ids" not in write_typescript(contract).text
