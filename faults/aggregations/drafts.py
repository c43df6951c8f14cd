"""Random aggregations of the orders of a shop, as bodies. Every one is good."""

import random
from typing import Any

Body = dict[str, Any]

KEYS = (
    "status", "paid", "total", "price", "tags", "lines", "data.extra.note", "data.lines.sku", "id", "buyer_id", "buyer.city",
    "buyer.data.home.state", "buyer.company.name", "buyer.company.rating", "agent.city", "agent.company.name", "buyer.langs",
)  # fmt: skip
EACHES = ("tags", "marks", "data.lines.sku", "buyer.langs", "agent.langs", "data.extra.note")
DATES = ("at", "created_at", "buyer.born", "agent.born")
STEPPED = ("total", "price", "buyer.company.rating", "data.extra.note")
UNITS = ("minute", "hour", "day", "week", "month", "quarter", "year")
ZONES = ("UTC", "Europe/Paris", "America/New_York", "Asia/Kolkata", "America/Sao_Paulo", "+05:30", "-03:37")
STEPS = (1, 10, 7, 0.5, 0.1, 1000)
SUMMED = ("total", "price", "data.extra.note")
COUNTED = ("status", "total", "price", "at", "tags", "buyer_id", "data.extra.note", "paid")
WHERES = (
    {"status_eq": "paid"}, {"total_gte": 0}, {"or": [{"status_eq": "open"}, {"price_lt": 3}]}, {"not": {"paid_eq": True}},
    {"buyer.city_eq": "Paris"}, {"status_in": ["paid", "gone"], "at_isnull": False}, {"status_eq": "nothing has this"},
)  # fmt: skip


def draft(rnd: random.Random) -> Body:
    """An aggregation with any of its parts."""
    group = {f"key {n}": _key(rnd) for n in range(rnd.choice((0, 1, 1, 1, 2, 2, 3)))}
    values = {f"value {n}": _value(rnd) for n in range(rnd.choice((0, 1, 2, 3) if group else (1, 2, 3)))}
    body: Body = {"group": group, "values": values, "limit": rnd.choice((1, 5, 1000, 1000))}
    if rnd.random() < 0.4:
        body["where"] = rnd.choice(WHERES)
    counts = [name for name, value in values.items() if value == "count"]
    if counts and rnd.random() < 0.5:
        body["having"] = {f"{counts[0]}_{rnd.choice(('gte', 'lt', 'ne'))}": rnd.randint(0, 5)}
    if rnd.random() < 0.5:
        names = rnd.sample([*group, *values], min(len(group) + len(values), rnd.randint(1, 2)))
        body["sort_by"] = [rnd.choice(("", "-")) + name for name in names]
    return {name: part for name, part in body.items() if part or name == "limit"}


def _key(rnd: random.Random) -> Any:
    kind = rnd.choice(("field", "field", "each", "date", "date", "step"))
    if kind == "field":
        return rnd.choice(KEYS)
    if kind == "each":
        return {"field": rnd.choice(EACHES), "each": True}
    if kind == "step":
        return {"field": rnd.choice(STEPPED), "step": rnd.choice(STEPS)}
    key = {"field": rnd.choice(DATES), "every": rnd.choice(UNITS)}
    return key | {"timezone": rnd.choice(ZONES)} if rnd.random() < 0.8 else key


def _value(rnd: random.Random) -> Any:
    match rnd.choice(("count", "sum", "count_distinct", "count_distinct", "min")):
        case "count":
            return "count"
        case "sum":
            return {rnd.choice(("sum", "avg")): rnd.choice(SUMMED)}
        case "count_distinct":
            return {"count_distinct": rnd.choice(COUNTED)}
    return {rnd.choice(("min", "max")): rnd.choice((*COUNTED, "lines"))}


WIDE = ("text", "other", "any", "list", "numbers", "object", "number", "self_id", "data.object.name 1", "data.any.a")
FAR = ("", "self.", "self.self.", "self.self.self.")
ARRAYS = ("list", "numbers", "any")


def draft_large(rnd: random.Random) -> Body:
    """An aggregation of up to all the keys and values that there may be, of large records."""
    group = {f"k{n}": _wide_key(rnd) for n in range(rnd.choice((0, 1, 2, 8)))}
    values = {f"v{n}": _wide_value(rnd) for n in range(rnd.choice((1, 3, 16)))}
    names = [*group, *values]
    sort = [rnd.choice(("", "-")) + name for name in rnd.sample(names, min(3, len(names)))]
    return {"group": group, "values": values, "sort_by": sort, "limit": 1000}


def _wide_key(rnd: random.Random) -> Any:
    far = rnd.choice(FAR)
    match rnd.choice(("field", "each", "step")):
        case "field":
            name = rnd.choice(WIDE)
            return f"{far}{name}"
        case "each":
            return {"field": f"{far}{rnd.choice(ARRAYS)}", "each": True}
    return {"field": f"{far}number", "step": rnd.choice((1, 1e-300, 2**62, 0.1))}


def _wide_value(rnd: random.Random) -> Any:
    function = rnd.choice(("count_distinct", "min", "max", "sum", "avg"))
    return {function: rnd.choice(("number", "any") if function in {"sum", "avg"} else WIDE)}
