"""Calls that write documents: bodies, forms where a field is a file, and how each may be repeated."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from auth_collections_client.calls import Call, Options, Repeat, if_match, post, present, query_of
from auth_collections_client.encoding import segment
from auth_collections_client.errors import ConfigurationError
from auth_collections_client.forms import make_form, split_files
from auth_collections_client.queries import flatten

# Parts of a change that end alike when they are done twice.
REPEATABLE = frozenset({"data", "min", "max", "add", "pull", "unset"})
Progress = Callable[[int, int], object]
Version = int | str | None
Fields = Mapping[str, Any]


class Operators(Options, total=False):
    """The parts of a change beside `data`."""

    increment: Fields | None
    multiply: Fields | None
    min: Fields | None
    max: Fields | None
    push: Fields | None
    add: Fields | None
    pull: Fields | None
    unset: Sequence[str] | None


def collection_path(name: str) -> str:
    return f"/api/collections/{segment(name)}"


def documents_path(name: str, document_id: str | None = None) -> str:
    path = f"{collection_path(name)}/documents"
    return path if document_id is None else f"{path}/{segment(document_id)}"


def write(
    method: str,
    path: str,
    data: Mapping[str, Any],
    *,
    options: Options,
    repeat: Repeat,
    query: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    on_progress: Progress | None = None,
    is_wrapped: bool = True,
    **more: Any,
) -> Call:
    """Returns a write of `data`: a form where a field has a file, which is sent once, else JSON."""
    rest, files = split_files(data)
    shared: dict[str, Any] = {"query": query_of(query), "headers": headers or {}, "options": options, **more}
    if files:
        return Call(method, path, form=make_form(rest, files), on_progress=on_progress, **shared)
    return post(path, {"data": rest} if is_wrapped else rest, method=method, repeat=repeat, **shared)


def change(path: str, parts: Fields, version: Version, options: Options, on_progress: Progress | None = None) -> Call:
    """Returns a PATCH. Files go with `data` alone, for a form has no operators."""
    body = change_body(parts)
    headers = if_match(version)
    if body.keys() <= {"data"}:
        repeat: Repeat = "keyed" if version is not None else "safe"
        data = body.get("data", {})
        return write("PATCH", path, data, options=options, repeat=repeat, headers=headers, on_progress=on_progress)
    if split_files(body.get("data", {}))[1]:
        raise ConfigurationError("A file is changed by an update of `data` alone, without operators and `where`.")
    repeat = "safe" if version is None and body.keys() <= REPEATABLE else "keyed"
    return post(path, body, method="PATCH", repeat=repeat, headers=headers, options=options)


def change_body(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the body of a change, its `where` with dotted keys."""
    body = present(parts)
    return {**body, "where": flatten(body["where"])} if "where" in body else body


def dump(data: Any) -> Fields:
    """Returns the fields of a mapping, or of a pydantic model: those that were set."""
    method = getattr(data, "model_dump", None)
    fields: Fields = data if method is None else method(mode="json", exclude_unset=True)
    return fields
