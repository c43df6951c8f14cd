"""Signing URLs of files on request, for servers, and for users who may read what the files belong to."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from service.domain.access.caller import SecretKeyCaller, UserCaller
from service.domain.access.control import AccessControl
from service.domain.access.visible import VisibleUsers
from service.domain.files.protection import FileProtection
from service.domain.lists import Lists
from service.domain.projects.lookup import Project
from service.errors import CollectionNotFound, FileNotFound, InvalidApiKey, InvalidToken
from service.query.nodes import BoundQuery, Count
from service.query.shapes import USERS
from service.storage.files.stored import StoredFile, find_files


class FileSigning:
    """Gives out URLs that are good for a while, also of files that are not protected."""

    def __init__(self, protection: FileProtection, access: AccessControl, lists: Lists) -> None:
        self._protection = protection
        self._access = access
        self._lists = lists

    async def sign(self, caller: SecretKeyCaller | UserCaller, urls: Sequence[str], seconds: int) -> dict[str, str]:
        """URL as it was sent, with an older signature or without → a URL of its file that is good for so many seconds.

        Raises FileNotFound where one is of no file of this project, or of none that the caller may read; InvalidToken.
        """
        files = await _find(caller.project, urls)
        if isinstance(caller, UserCaller):
            await self._check_readable(caller, files.values())
        return self._protection.sign_each(caller.project, files, seconds)

    async def _check_readable(self, caller: UserCaller, files: Collection[StoredFile]) -> None:
        """One's own files, and those of others that are shown to the caller where they belong."""
        user = await caller.project.users.find_profile(caller.user_id)
        if user is None or not caller.is_in_force(user):
            raise InvalidToken
        others = [file for file in files if file.owner != caller.user_id]
        seen = await self._see(caller, sorted({file.owner for file in others})) if others else {}
        name = caller.project.database.file_urls.name
        for file in others:
            value = seen.get(file.owner, {}).get(file.field)
            if not isinstance(value, str) or name(value) != file.name:
                raise FileNotFound

    async def _see(self, caller: UserCaller, user_ids: list[str]) -> Mapping[str, Mapping[str, Any]]:
        """User → what of the user's `data` the caller may read. Raises FileNotFound where nobody can be read by rule."""
        try:
            permissions = await self._access.permissions(caller, USERS.collection)
        except (CollectionNotFound, InvalidApiKey):
            raise FileNotFound from None
        if permissions.read is False:
            raise FileNotFound
        shape = VisibleUsers(USERS, permissions)
        match = replace(shape.match, filters=({"_id": {"$in": user_ids}}, *shape.match.filters))
        query = BoundQuery(
            shape.collection, match, (("_id", 1),), len(user_ids), 0, Count.NONE, (), tuple(shape.listed), shape.view
        )
        found = await self._lists.read(caller.project.database, query)
        return {row["_id"]: row["data"] for row in found.rows}


async def _find(project: Project, urls: Sequence[str]) -> dict[str, StoredFile]:
    """URL → its file. Raises FileNotFound."""
    named = {url: project.database.file_urls.name(url) for url in urls}
    names = {name for name in named.values() if name is not None}
    files = await find_files(project.database.database, names) if names else {}
    found = {url: files[name] for url, name in named.items() if name in files}
    if len(found) < len(named):
        raise FileNotFound
    return found
