"""Which files are read by signed URLs only, and the URLs that answers show of them.

Whether a file is protected depends on the rules in force and on the field it was uploaded to, not on when that was, nor on
what shows it. Whoever is shown a URL may read the field it stands in: what one may not read, the view of an answer leaves out.
"""

from collections.abc import Mapping
from typing import Any

from service.domain.access.control import AccessControl
from service.domain.files.signed_urls import FilePlace, Link, UrlSigner, place_of
from service.domain.projects.lookup import Project
from service.errors import FileNotFound
from service.query.populate import Row, ShowFiles
from service.storage.files.stored import StoredFile


class FileProtection:
    """The protected files of all projects."""

    def __init__(self, access: AccessControl, signer: UrlSigner) -> None:
        self._access = access
        self._signer = signer

    async def check(self, project: Project, file: StoredFile, link: Link) -> int | None:
        """For how many seconds more the link is good; None for a file that anybody may read. Raises FileNotFound."""
        if file.field not in await self._access.protected_fields(project):
            return None
        left = self._signer.seconds_left(place_of(project.id, file), link)
        if not left:
            raise FileNotFound
        return left

    async def sign_user(self, project: Project, user_id: str, data: dict[str, Any]) -> bool:
        """Signs the URLs in a user's `data`, in place; whether there were any. For users who have files."""
        return self._sign(project, user_id, data, await self._access.protected_fields(project))

    async def show(self, project: Project) -> ShowFiles:
        """What puts the URLs of files into rows of lists, be they of users or of records that populate users."""
        fields, plain = await self._access.protected_fields(project), project.database.file_urls.show
        if not fields:
            return plain

        def show(row: Row) -> object:
            # Only users have files; a text like a URL in another record stays one.
            is_user = "files" in row
            plain(row)
            if is_user:
                self._sign(project, row["_id"], row["data"], fields)
            return row

        return show

    def sign_each(self, project: Project, files: Mapping[str, StoredFile], seconds: int) -> dict[str, str]:
        """URL as it was sent → a URL of its file that is good for so many seconds."""
        prefix = project.database.file_urls.prefix
        return {
            url: f"{prefix}{file.name}{self._signer.sign(place_of(project.id, file), seconds)}"
            for url, file in files.items()
        }

    def _sign(self, project: Project, user_id: str, data: dict[str, Any], fields: frozenset[str]) -> bool:
        urls, signed = project.database.file_urls, False
        for field in fields & data.keys():
            name = urls.name(data[field]) if isinstance(data[field], str) else None
            if name is not None:
                place = FilePlace(project.id, name, user_id, field)
                data[field] = f"{urls.prefix}{name}{self._signer.sign(place)}"
                signed = True
        return signed
