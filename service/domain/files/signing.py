"""Signs URLs of files on request, for servers, and for users who may read the records of the files."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from service.domain.access.caller import SecretKeyCaller, UserCaller
from service.domain.files.protection import FileProtection
from service.domain.projects.lookup import Project
from service.errors import CollectionNotFound, FileNotFound, InvalidApiKey, InvalidToken
from service.query.nodes import BoundQuery, Count, ListQuery
from service.query.shapes import USERS, Shape
from service.rules.permissions import Permissions
from service.rules.visible import Seen, see_shape
from service.storage.files.stored import StoredFile, find_files


async def sign_urls(
    protection: FileProtection, caller: SecretKeyCaller | UserCaller, urls: Sequence[str], seconds: int
) -> dict[str, str]:
    """URL as it was sent, with an older signature or without → a URL of its file that is good for so many seconds.

    Raises FileNotFound where one is of no file of this project, or of none that the caller may read; InvalidToken.
    """
    files = await _find(protection, caller.project, urls)
    if isinstance(caller, UserCaller):
        await _check_readable(protection, caller, files.values())
    return protection.sign_each(caller.project, files, seconds)


async def _find(protection: FileProtection, project: Project, urls: Sequence[str]) -> dict[str, StoredFile]:
    """URL → its file. Raises FileNotFound."""
    named = {url: project.database.file_urls.name_and_variant(url) for url in urls}
    names = {name for name, _ in named.values() if name is not None}
    files = await find_files(project.database.database, names) if names else {}
    found = {
        url: files[name]
        for url, (name, variant) in named.items()
        if name in files and await protection.has_variant(project, files[name], variant)
    }
    if len(found) < len(named):
        raise FileNotFound
    return found


async def _check_readable(protection: FileProtection, caller: UserCaller, files: Collection[StoredFile]) -> None:
    """One's own files, and those of others that are shown to the caller where they belong."""
    user = await caller.project.users.find_profile(caller.user_id)
    if user is None or not caller.is_in_force(user):
        raise InvalidToken
    others = [file for file in files if file.collection or file.owner != caller.user_id]
    name = caller.project.database.file_urls.name
    for collection in sorted({file.collection for file in others}):
        some = [file for file in others if file.collection == collection]
        seen = await _see(protection, caller, collection or USERS.collection, sorted({file.owner for file in some}))
        for file in some:
            if file.name not in {name(url) for url in _texts(seen.get(file.owner, {}).get(file.field))}:
                raise FileNotFound


async def _see(
    protection: FileProtection, caller: UserCaller, collection: str, ids: list[str]
) -> Mapping[str, Mapping[str, Any]]:
    """Id → the part of the record's `data` the caller may read.

    Raises FileNotFound if no rule lets users read it.
    """
    try:
        shape = await _shape(protection, caller, collection, await protection.access.permissions(caller, collection))
    except (CollectionNotFound, InvalidApiKey):
        raise FileNotFound from None
    match = replace(shape.match, filters=({"_id": {"$in": ids}}, *shape.match.filters))
    query = BoundQuery(
        shape.collection, match, (("_id", 1),), len(ids), 0, Count.NONE, (), tuple(shape.listed), shape.view
    )
    show = await protection.show(caller.project, [shape.collection])
    found = await protection.lists.read(caller.project.database, query, show)
    return {row["_id"]: row["data"] for row in found.rows}


async def _shape(protection: FileProtection, caller: UserCaller, collection: str, permissions: Permissions) -> Shape:
    """Raises FileNotFound where the caller may read none, CollectionNotFound."""
    if permissions.read is False:
        raise FileNotFound
    if collection == USERS.collection:
        return see_shape(USERS, permissions)

    async def see(_: Sequence[str]) -> Seen:
        return lambda name, shape: see_shape(shape, permissions) if name == collection else None

    return await protection.catalogs.shape(caller.project, collection, ListQuery(), see)


def _texts(value: Any) -> Iterator[str]:
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str):
            yield each
