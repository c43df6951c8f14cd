"""Events as readers and receivers are shown them."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from service.domain.collections.catalog import Catalogs
from service.domain.projects.lookup import Project
from service.errors import CollectionNotFound
from service.query.account_shape import show_account
from service.storage.feed import LoggedEvent

DOCUMENT_FIELDS = ("created_at", "updated_at", "version")


async def show_event(catalogs: Catalogs, project: Project, event: LoggedEvent) -> dict[str, Any]:
    """The envelope of an event: {"id", "type", "timestamp", "project_id", "data"}. URLs of files are bare."""
    return {
        "id": f"evt_{event.cursor}",
        "type": event.type,
        "timestamp": event.at,
        "project_id": event.project_id,
        "data": {**event.data, **await _show_images(catalogs, project, event)},
    }


async def _show_images(catalogs: Catalogs, project: Project, event: LoggedEvent) -> dict[str, Any]:
    """`document` and `previous`, as far as the project's feed keeps them."""
    kind, *_, verb = event.type.split(".")
    if kind not in ("documents", "users"):
        return {}
    include, omitted = project.settings.feed_include, event.data.get("omitted", ())
    shown: dict[str, Any] = {}
    if event.after is not None or (include != "ids" and verb == "deleted"):
        shown["document"] = await _show(catalogs, project, event, event.after)
    if event.before is not None or (include == "previous" and verb == "created"):
        shown["previous"] = await _show(catalogs, project, event, event.before)
    return {name: image for name, image in shown.items() if name not in omitted}


async def _show(catalogs: Catalogs, project: Project, event: LoggedEvent, image: Any) -> dict[str, Any] | None:
    if image is None:
        return None
    if event.type.startswith("users."):
        return _show_user(project, image)
    return await _show_document(catalogs, project, event.data["collection"], image)


def _show_user(project: Project, image: Mapping[str, Any]) -> dict[str, Any]:
    record = {name: value for name, value in image.items() if name != "by"}
    project.database.file_urls.show(record)
    return {**show_account(record), "updated_at": record["updated_at"]}


async def _show_document(
    catalogs: Catalogs, project: Project, collection: str, image: Mapping[str, Any]
) -> dict[str, Any]:
    """A collection that is gone has no fields of files any more."""
    data = dict(image["data"])
    with suppress(CollectionNotFound):
        project.database.file_urls.show_fields(data, (await catalogs.get(project, collection)).files)
    return {"id": image["_id"], "data": data, **{name: image.get(name) for name in DOCUMENT_FIELDS}}
