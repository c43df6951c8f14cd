"""The grammar of an aggregation: the JSON of a body → AskedAggregation. It knows functions and bounds, and no field.

{"where": {...},
 "group": {"month": {"field": "created_at", "every": "month", "timezone": "Europe/Paris"}, "city": "buyer.city",
           "price": {"field": "price", "step": 10}, "tag": {"field": "tags", "each": true}},
 "values": {"orders": "count", "revenue": {"sum": "total"}},
 "having": {"revenue_gte": 100}, "sort_by": ["-revenue"], "limit": 100}
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from service.bounds import MAX_GROUP_KEYS, MAX_GROUP_VALUES, MAX_ROWS, MAX_SORT_KEYS
from service.errors import Invalid, Location, Violation
from service.query.aggregate.nodes import AskedAggregation, AskedKey, Bucket, DateBucket, NumberBucket, Path, Value
from service.query.names import Fault, read_path
from service.query.nodes import Where
from service.query.where import read_filter
from service.schema.strict_json import shown
from service.schema.values import check_name

PARTS = ("where", "group", "values", "having", "sort_by", "limit")
KEY_OPTIONS = ("field", "each", "every", "timezone", "step")
UNITS = ("minute", "hour", "day", "week", "month", "quarter", "year")
COUNT = "count"
FUNCTIONS = ("count_distinct", "sum", "avg", "min", "max")
DEFAULT_LIMIT = 100
UTC = "UTC"
# MongoDB knows the names.
TIMEZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+\-/]{0,63}|[+-](?:0\d|1[0-4]):[0-5]\d")
KEY_RULE = 'A key is the name of a field, or an object such as {"field": "created_at", "every": "month"}'
VALUE_RULE = f'A value is "{COUNT}", or an object with one of {", ".join(FUNCTIONS)}, such as {{"sum": "total"}}'


def read_aggregation(body: Mapping[str, Any], place: Location) -> AskedAggregation:
    """The aggregation that `body`, which stands at `place`, spells. Raises Invalid that names all that is wrong."""
    return _Reader(place).read(body)


class _Reader:
    """Reads one body. `violations` are the faults so far."""

    def __init__(self, place: Location) -> None:
        self.violations: list[Violation] = []
        self._place = place

    def read(self, body: Mapping[str, Any]) -> AskedAggregation:
        for name in body:
            if name not in PARTS:
                self._refuse((shown(name)[1:-1],), f"Must be one of {', '.join(PARTS)}", "extra_forbidden")
        keys = tuple(self._each(body, "group", MAX_GROUP_KEYS, self._key))
        values = tuple(self._each(body, "values", MAX_GROUP_VALUES, self._value))
        if not body.get("group") and not body.get("values"):
            self._refuse(("values",), "An aggregation has a group, or values, or both", "missing")
        names = self._names(keys, values)
        found = AskedAggregation(
            where=self._where(body, "where"),
            keys=keys,
            values=values,
            having=self._where(body, "having"),
            sort=tuple(self._sort(body.get("sort_by", []), names)),
            limit=self._limit(body.get("limit", DEFAULT_LIMIT)),
        )
        if self.violations:
            raise Invalid(self.violations)
        return found

    def _names(self, keys: Iterable[AskedKey], values: Iterable[Value]) -> set[str]:
        names = {key.name for key in keys}
        for value in values:
            if value.name in names:
                msg = "A key of the group has this name; the columns of a row have one each"
                self._refuse(("values", value.name), msg, "repeated")
        return names | {value.name for value in values}

    def _each(
        self, body: Mapping[str, Any], part: str, most: int, read: Callable[[str, Any, Location], Any]
    ) -> Iterable[Any]:
        """Yields the results of `read` for the entries of an object that has at most `most` of them."""
        entries = body.get(part, {})
        if not isinstance(entries, dict):
            self._refuse((part,), "Must be an object of names", "dict_type")
            return
        if len(entries) > most:
            self._refuse((part,), f"At most {most} are allowed", "too_many")
            return
        for name, entry in entries.items():
            place = (part, shown(name)[1:-1])
            if problem := check_name(name) or ("A name must not begin with '-'" if name.startswith("-") else None):
                self._refuse(place, problem, "field_name")
            elif (found := read(name, entry, place)) is not None:
                yield found

    def _key(self, name: str, entry: Any, place: Location) -> AskedKey | None:
        if isinstance(entry, str):
            path = self._path(entry, place)
            return AskedKey(name, path) if path else None
        if not isinstance(entry, dict):
            self._refuse(place, KEY_RULE, "dict_type")
            return None
        for option in entry:
            if option not in KEY_OPTIONS:
                msg = f"Must be one of {', '.join(KEY_OPTIONS)}"
                self._refuse((*place, shown(option)[1:-1]), msg, "extra_forbidden")
        path = self._path(entry.get("field"), (*place, "field"))
        bucket, each = self._bucket(entry, place), entry.get("each", False)
        if not isinstance(each, bool):
            self._refuse((*place, "each"), "Must be true or false", "bool_type")
        return AskedKey(name, path, bucket, each=each is True) if path else None

    def _bucket(self, entry: Mapping[str, Any], place: Location) -> Bucket | None:
        if "step" in entry:
            return self._step(entry, place)
        if "every" not in entry:
            if "timezone" in entry:
                self._refuse((*place, "timezone"), "A time zone goes with every", "value_error")
            return None
        every, timezone = entry["every"], entry.get("timezone", UTC)
        if every not in UNITS:
            self._refuse((*place, "every"), f"Must be one of {', '.join(UNITS)}", "enum")
        if not isinstance(timezone, str) or not TIMEZONE.fullmatch(timezone):
            msg = "Must be the name of a time zone such as Europe/Paris, or an offset such as +05:30"
            self._refuse((*place, "timezone"), msg, "timezone")
        return DateBucket(str(every), str(timezone))

    def _step(self, entry: Mapping[str, Any], place: Location) -> NumberBucket | None:
        step = entry["step"]
        for option in ("every", "timezone"):
            if option in entry:
                self._refuse((*place, option), "A key has buckets of dates, or of numbers", "value_error")
        if not isinstance(step, int | float) or isinstance(step, bool) or step <= 0:
            self._refuse((*place, "step"), "Must be a number greater than 0", "greater_than")
            return None
        return NumberBucket(step)

    def _value(self, name: str, entry: Any, place: Location) -> Value | None:
        if entry == COUNT:
            return Value(name, COUNT)
        if not isinstance(entry, dict) or len(entry) != 1 or next(iter(entry)) not in FUNCTIONS:
            self._refuse(place, VALUE_RULE, "value")
            return None
        ((function, field),) = entry.items()
        path = self._path(field, (*place, function))
        return Value(name, function, path) if path else None

    def _path(self, field: Any, place: Location) -> Path:
        """Empty where it is no path."""
        if not isinstance(field, str):
            self._refuse(place, "Must be the name of a field", "string_type" if field is not None else "missing")
            return ()
        try:
            return read_path(field)
        except Fault as fault:
            self._refuse(place, str(fault), "value_error")
            return ()

    def _where(self, body: Mapping[str, Any], part: str) -> Where:
        place = (*self._place, part)
        try:
            return read_filter(body[part], place) if part in body else Where()
        except Invalid as invalid:
            self.violations += invalid.violations
            return Where()

    def _sort(self, sort_by: Any, names: set[str]) -> Iterable[tuple[str, bool]]:
        if not isinstance(sort_by, list) or len(sort_by) > MAX_SORT_KEYS:
            self._refuse(("sort_by",), f"Must be a list of at most {MAX_SORT_KEYS} names of columns", "list_type")
            return
        seen = set[str]()
        for number, text in enumerate(sort_by):
            name = text.removeprefix("-") if isinstance(text, str) else ""
            if name not in names or name in seen:
                msg = "Must be the name of a key or a value, each once, behind a - to descend"
                self._refuse(("sort_by", number), msg, "value_error")
                continue
            seen.add(name)
            yield name, text.startswith("-")

    def _limit(self, limit: Any) -> int:
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MAX_ROWS:
            self._refuse(("limit",), f"Must be a whole number from 1 to {MAX_ROWS}", "value_error")
            return DEFAULT_LIMIT
        return limit

    def _refuse(self, place: Location, msg: str, type_: str) -> None:
        self.violations.append(Violation((*self._place, *place), msg, type_))
