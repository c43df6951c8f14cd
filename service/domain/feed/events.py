"""A write becomes an event of the log. Pure, apart from the stream's own types, which stay encoded."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from service.bounds import MAX_EVENT_BYTES
from service.domain.feed.interests import Interest
from service.schema.event_patterns import DOCUMENTS as DOCUMENT_KIND
from service.storage.change_stages import AFTER, BEFORE
from service.storage.collections import declared_name
from service.storage.feed import LoggedEvent
from service.storage.feed_stream import AUTHOR, CHANGED, REPLACED, FeedChange, measure_image
from service.storage.layout import COLLECTIONS, EVENTS, USERS

CREATED, UPDATED, DELETED = "created", "updated", "deleted"
VERBS = {"insert": CREATED, "update": UPDATED, "replace": UPDATED, "delete": DELETED}
UNKNOWN = {"kind": "unknown", "id": None}
# The fields of a user beside `data` that the administration view shows, and whose change is an event.
SHOWN_OF_USERS = frozenset({"email", "email_verified", "disabled", "claims", "roles"})
# The fields of the journal's entry that its event has.
JOURNAL = ("user_id", "sid", "ip", "user_agent", "actor", "detail")


def log_change(change: FeedChange, interest: Interest) -> LoggedEvent | None:
    """The event of a write; None where it is none, or none that the project keeps."""
    if change.collection == USERS:
        found = _of_user(change, interest)
    elif change.collection == EVENTS:
        found = _of_journal(change)
    elif change.collection == COLLECTIONS:
        found = _of_collection(change)
    elif change.collection == "rules":
        found = _of_rules(change)
    else:
        found = _of_document(change, interest)
    if found is None or not interest.wants(found[0]):
        return None
    type_, data, images = found
    event = change.event
    return LoggedEvent(change.place.cursor, interest.project_id, type_, event["wallTime"], data, *images)


Images = tuple[Any, Any]
Found = tuple[str, dict[str, Any], Images] | None
NO_IMAGES: Images = (None, None)


def _of_document(change: FeedChange, interest: Interest) -> Found:
    collection, verb = declared_name(change.collection), VERBS[change.kind]
    after, before = _image(change, AFTER), _image(change, BEFORE)
    changed = sorted(_changed_of_data(change, after, before)) if verb == UPDATED else None
    data: dict[str, Any] = {
        "collection": collection,
        "id": change.event["documentKey"]["_id"],
        "version": _read_version(after, before),
        "actor": _read_actor(change, after),
        "changed": changed,
    }
    images, omitted = _keep(verb, after, before, interest)
    return f"{DOCUMENT_KIND}.{collection}.{verb}", data | _omit(omitted), images


def _of_user(change: FeedChange, interest: Interest) -> Found:
    verb, after, before = VERBS[change.kind], _image(change, AFTER), _image(change, BEFORE)
    changed = sorted(_changed_of_user(change, after, before)) if verb == UPDATED else None
    if changed == []:
        return None
    data = {"id": change.event["documentKey"]["_id"], "actor": _read_actor(change, after), "changed": changed}
    images, omitted = _keep(verb, after, before, interest)
    return f"users.{verb}", data | _omit(omitted), images


def _of_journal(change: FeedChange) -> Found:
    entry = _image(change, AFTER)
    if change.kind != "insert" or not isinstance(entry, Mapping):
        return None
    return f"auth.{entry['type']}", {"id": entry["_id"], **{name: entry.get(name) for name in JOURNAL}}, NO_IMAGES


def _of_collection(change: FeedChange) -> Found:
    """A record that only reserves a name, while leftovers are removed, is no collection."""
    image = _image(change, AFTER)
    reserves = change.kind == "insert" and isinstance(image, Mapping) and image.get("change") == "delete"
    is_other = change.kind == "update" and "updated_at" not in change.event[CHANGED]
    if reserves or is_other:
        return None
    return f"collections.{VERBS[change.kind]}", {"name": change.event["documentKey"]["_id"]}, NO_IMAGES


def _of_rules(change: FeedChange) -> Found:
    """An update of the record notes another schema beneath the same rules."""
    return ("rules.updated", {"name": "rules"}, NO_IMAGES) if change.kind in ("insert", "replace") else None


def _image(change: FeedChange, name: str) -> Any:
    """The record before or after: encoded, LARGE, or None where there is none or MongoDB kept none."""
    return change.event.get(name)


def _read_version(after: Any, before: Any) -> int | None:
    image = after if isinstance(after, Mapping) else before
    return image.get("version") if isinstance(image, Mapping) else None


def _read_actor(change: FeedChange, after: Any) -> dict[str, str | None]:
    """The author that the write itself named. One past the service names none: `unknown`."""
    author = change.event.get(AUTHOR)
    if change.kind in ("insert", "replace") and isinstance(after, Mapping):
        author = after.get("by")
    if not isinstance(author, str):
        return dict(UNKNOWN)
    kind, _, rest = author.partition(":")
    return {"kind": kind, "id": rest.rpartition(":")[0] or None}


def _changed_of_data(change: FeedChange, after: Any, before: Any) -> set[str]:
    """The names at the top of `data` that another value has now.

    If all of `data` was replaced and an image is missing, these are all names that `data` has now.
    """
    names = list(change.event[CHANGED])
    if change.kind == "replace" or "data" in names:
        return _compare(after, before, change.event[REPLACED])
    return {name.split(".")[1] for name in names if name.startswith("data.")}


def _compare(after: Any, before: Any, replaced: Iterable[str]) -> set[str]:
    new = after["data"] if isinstance(after, Mapping) else None
    old = before["data"] if isinstance(before, Mapping) else None
    if new is None or old is None:
        return set(new if new is not None else replaced)
    return {name for name in {*new, *old} if (name in new) != (name in old) or new.get(name) != old.get(name)}


def _changed_of_user(change: FeedChange, after: Any, before: Any) -> set[str]:
    """Names of `data` that a field of the account has, too, are written with `data.` before them."""
    fields = SHOWN_OF_USERS & {name.partition(".")[0] for name in change.event[CHANGED]}
    if change.kind == "replace" and isinstance(after, Mapping) and isinstance(before, Mapping):
        fields = frozenset(name for name in SHOWN_OF_USERS if after.get(name) != before.get(name))
    of_data = _changed_of_data(change, after, before)
    return {*fields, *(f"data.{name}" if name in SHOWN_OF_USERS else name for name in of_data)}


def _keep(verb: str, after: Any, before: Any, interest: Interest) -> tuple[Images, list[str]]:
    """The images that the log keeps, and the names of those that it lacks."""
    asked: dict[str, Any] = {}
    if interest.keeps_after and verb != DELETED:
        asked["document"] = after
    if interest.keeps_before and verb != CREATED:
        asked["previous"] = before
    kept = {name: image for name, image in asked.items() if isinstance(image, Mapping)}
    for name in ("previous", "document"):
        if sum(measure_image(image) for image in kept.values()) > MAX_EVENT_BYTES:
            kept.pop(name, None)
    return (kept.get("document"), kept.get("previous")), [name for name in asked if name not in kept]


def _omit(omitted: Sequence[str]) -> dict[str, Any]:
    return {"omitted": list(omitted)} if omitted else {}
