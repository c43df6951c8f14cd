"""The demo users' profile pictures: drawn, not photographed."""

from collections.abc import AsyncIterator
from xml.sax.saxutils import escape

from service.domain.files.names import new_file_name
from service.domain.projects.lookup import Project
from service.storage.files.stored import FileMetadata
from service.storage.files.uploads import Upload
from service.storage.users import User

FIELD = "profile_picture"
MAX_USERS = 1_000

COLOURS = (
    "#7b8cde",
    "#e07a5f",
    "#3d9970",
    "#b5838d",
    "#457b9d",
    "#c08497",
    "#6a994e",
    "#bc6c25",
    "#5e548e",
    "#2a9d8f",
    "#9c6644",
)


async def add_pictures(project: Project) -> None:
    """Gives every user, who has a name and a group, a picture of their own."""
    upload = Upload(project.database)
    users = await project.users.find_first(MAX_USERS)
    names = {user.id: await _store(user, upload, project.id) for user in users}
    await project.users.add_files(upload, FIELD, names)


async def _store(user: User, upload: Upload, project_id: str) -> str:
    """The name of the user's new picture."""
    name = new_file_name(project_id, "svg")
    metadata = FileMetadata(name, user.id, FIELD, f"{FIELD}.svg")
    await upload.write(metadata, _whole(draw_picture(user.data["name"], user.data["group"])))
    return name


async def _whole(content: bytes) -> AsyncIterator[bytes]:
    yield content


def draw_picture(name: str, group: int) -> bytes:
    """An SVG of a head and shoulders in the group's colour, with the initials of `name` under them."""
    colour = COLOURS[group % len(COLOURS)]
    initials = escape("".join(word[0] for word in name.replace(".", " ").replace("-", " ").split())[:2].upper())
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96" width="96" height="96">'
        f'<rect width="96" height="96" fill="{colour}"/>'
        '<circle cx="48" cy="36" r="17" fill="#fff" fill-opacity=".85"/>'
        '<path d="M14 96a34 34 0 0 1 68 0z" fill="#fff" fill-opacity=".85"/>'
        f'<text x="48" y="88" font-family="serif" font-size="18" text-anchor="middle" fill="{colour}">{initials}</text>'
        "</svg>"
    ).encode()
