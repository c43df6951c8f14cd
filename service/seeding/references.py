"""Natural keys → ids: `referred_by_id: bob@example.com` becomes the id of that user."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from service.domain.accounts.emails import normalize_email
from service.domain.projects.lookup import Project
from service.seeding.manifest import Source
from service.storage.documents import DocumentStore

USERS = "users"
RowData = dict[str, Any]


def user_id(project_id: str, email: str) -> str:
    """The id that a seeded user gets: the same in every run, so that users can refer to others who come later."""
    return hashlib.sha256(f"{project_id}/users/{email}".encode()).hexdigest()[:24]


def comparable_email(email: str) -> str:
    """The address as a signup stores it; a text that is no address stays, and matches no user."""
    try:
        return normalize_email(email)
    except ValueError:
        return email


async def resolve(
    project: Project | None, source: Source, rows: Sequence[RowData], *, dry_run: bool
) -> list[str | None]:
    """Puts ids in place of the natural keys in `rows`; for each row the reason why that cannot be done, or None.

    A user who is not there yet is taken to come later; in a dry run so is a document, and its key stays. One command
    for each field that is a reference.
    """
    faults: list[str | None] = [None] * len(rows)
    for name, target in source.references.items():
        wanted = {key for row in rows for key in _keys(row.get(name))}
        ids = await _ids(project, target, wanted)
        for number, row in enumerate(rows):
            lost = [key for key in _keys(row.get(name)) if key not in ids]
            if lost and not dry_run:
                faults[number] = faults[number] or f"{name}: no {target} is {lost[0]}"
            elif name in row:
                row[name] = _replaced(row[name], ids)
    return faults


def _keys(value: Any) -> list[Any]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str | int) and not isinstance(each, bool)]


def _replaced(value: Any, ids: Mapping[Any, str]) -> Any:
    if isinstance(value, list):
        return [ids.get(each, each) if isinstance(each, str | int) else each for each in value]
    return ids.get(value, value) if isinstance(value, str | int) else value


async def _ids(project: Project | None, target: str, keys: Iterable[Any]) -> dict[Any, str]:
    """Key → id. `target` is `users`, or `<collection>.<field>`."""
    if target == USERS:
        return await _user_ids(project, {str(key) for key in keys})
    collection, _, field = target.partition(".")
    wanted = list(keys)
    if project is None or not wanted:
        return {}
    found = await DocumentStore(project.database, collection).find_by_values({field: wanted}, size=len(wanted))
    return {document.data[field]: document.id for document in found}


async def _user_ids(project: Project | None, emails: set[str]) -> dict[Any, str]:
    normalized = {email: comparable_email(email) for email in emails}
    known = await project.users.find_ids(normalized.values()) if project else {}
    place = project.id if project else ""
    return {email: known.get(stored, user_id(place, stored)) for email, stored in normalized.items()}
