"""The grammar of a query string: what it spells, and at which limit it is refused."""

from typing import Any

import pytest

from service.errors import Invalid
from service.query.nodes import Condition, Count, ListQuery, SortKey
from service.query.parse import parse, parse_pairs

SPELLINGS: list[tuple[str, ListQuery]] = [
    ("", ListQuery()),
    ("limit=1&offset=9223372036854775807&count=false", ListQuery(limit=1, offset=2**63 - 1, count=Count.NONE)),
    ("limit=1000&sort_by=age&sort_order=desc", ListQuery(limit=1000, sort=(SortKey(("age",), True),))),
    ("sort_by=data.address.city", ListQuery(sort=(SortKey(("data", "address", "city")),))),
    ("populate=a,b.c,a", ListQuery(populate=(("a",), ("b", "c")))),
    ("populate=*", ListQuery(populate=(("*",),))),
    ("age_gte=30", ListQuery((Condition("age_gte", ("age",), "gte", "30"),))),
    (
        "referred_by_id_isnull=true",
        ListQuery((Condition("referred_by_id_isnull", ("referred_by_id",), "isnull", "true"),)),
    ),
    ("a.b.c.email_eq=x", ListQuery((Condition("a.b.c.email_eq", ("a", "b", "c", "email"), "eq", "x"),))),
    ("a.data.b.c_eq=x", ListQuery((Condition("a.data.b.c_eq", ("a", "data", "b", "c"), "eq", "x"),))),
    ("IMDB+Rating_gte=8.5", ListQuery((Condition("IMDB Rating_gte", ("IMDB Rating",), "gte", "8.5"),))),
    ("%C3%BC_eq=%26%3D", ListQuery((Condition("ü_eq", ("ü",), "eq", "&="),))),
    ("filters[age_gte]=30&limit=2", ListQuery((Condition("age_gte", ("age",), "gte", "30"),), limit=2)),
    ("filters%5Ba.email_eq%5D=x", ListQuery((Condition("a.email_eq", ("a", "email"), "eq", "x"),))),
    ("filters[a_eq=x", ListQuery((Condition("filters[a_eq", ("filters[a",), "eq", "x"),))),
    ("limit_eq=3", ListQuery((Condition("limit_eq", ("limit",), "eq", "3"),))),
]

REFUSED: list[tuple[str, str, list[Any]]] = [
    ("unknown option", "page=2", ["query", "page"]),
    ("operator without a field", "_eq=2", ["query", "_eq"]),
    ("unknown operator", "age_between=2", ["query", "age_between"]),
    ("no value", "age_eq=", ["query", "age_eq"]),
    ("no equals sign", "limit", ["query", "limit"]),
    ("sent twice", "age_eq=1&age_eq=2", ["query", "age_eq"]),
    ("sent twice, once as a member", "age_eq=1&filters[age_eq]=1", ["query", "age_eq"]),
    ("an option as a member", "filters[limit]=1", ["query", "filters[limit]"]),
    ("a member of a member", "filters[email][x_eq]=1", ["query", "filters[email][x_eq]"]),
    ("a member that is none", "filters[]=1", ["query", "filters[]"]),
    ("an operator of MongoDB as a member", "filters[$where_eq]=1", ["query", "filters[$where_eq]"]),
    ("limit 0", "limit=0", ["query", "limit"]),
    ("limit 1001", "limit=1001", ["query", "limit"]),
    ("limit 1e3", "limit=1e3", ["query", "limit"]),
    ("limit 1.5", "limit=1.5", ["query", "limit"]),
    ("limit of 20 digits", "limit=" + "9" * 20, ["query", "limit"]),
    ("limit in other digits", "limit=%D9%A3", ["query", "limit"]),
    ("offset -1", "offset=-1", ["query", "offset"]),
    ("offset past 64 bits", "offset=9223372036854775808", ["query", "offset"]),
    ("count yes", "count=yes", ["query", "count"]),
    ("sort_order up", "sort_order=up", ["query", "sort_order"]),
    ("sort_by with an empty part", "sort_by=a..b", ["query", "sort_by"]),
    ("six to populate", "populate=a,b,c,d,e,f", ["query", "populate"]),
    ("populate four deep", "populate=a.b.c.d", ["query", "populate"]),
    ("populate with an empty name", "populate=a,,b", ["query", "populate"]),
    ("four relations", "a.b.c.d.email_eq=x", ["query", "a.b.c.d.email_eq"]),
    ("a path of 200 parts", ".".join("a" * 200) + "_eq=x", ["query", ".".join("a" * 200) + "_eq"]),
    ("an operator of MongoDB", "$where_eq=1", ["query", "$where_eq"]),
    ("a control character", "a%00b_eq=1", ["query", "a\0b_eq"]),
    ("51 conditions", "&".join(f"f{n}_eq=1" for n in range(51)), ["query"]),
    ("4,097 bytes", "a_eq=" + "x" * 4092, ["query"]),
    ("not UTF-8", "a_eq=%ff", ["query"]),
    ("no parameter", "&&", ["query"]),
]


@pytest.mark.parametrize(("text", "query"), SPELLINGS)
def test_parse(text: str, query: ListQuery) -> None:
    assert parse(parse_pairs(text.encode())) == query


@pytest.mark.parametrize(("text", "loc"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_parse_refuses(text: str, loc: list[Any]) -> None:
    with pytest.raises(Invalid) as caught:
        parse(parse_pairs(text.encode()))
    assert [list(violation.loc) for violation in caught.value.violations] == [loc]


def test_parse_accepts_what_is_just_within_the_limits() -> None:
    assert len(parse(parse_pairs("&".join(f"f{n}_eq=1" for n in range(50)).encode())).conditions) == 50
    assert len(parse(parse_pairs(b"a_eq=" + b"x" * 4091)).conditions[0].text) == 4091


def test_parse_names_every_bad_parameter() -> None:
    with pytest.raises(Invalid) as caught:
        parse(parse_pairs(b"limit=x&nonsense=1&offset=-1"))
    assert [violation.loc[1] for violation in caught.value.violations] == ["limit", "nonsense", "offset"]
