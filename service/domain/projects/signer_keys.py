"""Signer keys of Firebase, by which imported passwords are checked: sealed, once in the project's record."""

from base64 import b64encode
from collections.abc import Mapping

from service.domain.projects.lookup import place_of_signer
from service.domain.projects.secrets import SecretBox
from service.storage.client import ClientSession, Document
from service.storage.projects import ProjectStore


async def keep_signer_keys(store: ProjectStore, box: SecretBox, project_id: str, keys: Mapping[str, bytes]) -> None:
    """Adds `keys`, by name. Raises ProjectNotFound."""

    async def decide(_: ClientSession, record: Document) -> Document | None:
        new = {name: key for name, key in keys.items() if name not in record.get("signer_keys", {})}
        sealed = {
            f"signer_keys.{name}": box.seal(b64encode(key).decode(), place_of_signer(project_id, name))
            for name, key in new.items()
        }
        return {"$set": sealed} if sealed else None

    await store.change(project_id, decide)
