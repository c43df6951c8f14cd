"""A sealed word beside the projects, by which a wrong SECRET_KEY is known before anything is sealed with it."""

from service.domain.projects.secrets import SecretBox
from service.storage.projects import ProjectStore

WORD = "canary"


class Canary:
    """The canary of this service's database."""

    def __init__(self, store: ProjectStore, secret_box: SecretBox) -> None:
        self._store = store
        self._secret_box = secret_box

    async def check(self) -> None:
        """Opens the canary; makes it if there is none. Raises ConfigurationError under another SECRET_KEY."""
        if (sealed := await self._store.find_canary()) is None:
            sealed = await self._make()
        self._secret_box.open(sealed, WORD)

    async def _make(self) -> str:
        """The stored canary: of two made at once, one stays. Earlier sealed values must open first."""
        if (record := await self._store.find_any()) is not None:
            self._secret_box.open(record["signing_key"], f"{record['_id']}/signing_key")
        return await self._store.keep_canary(self._secret_box.seal(WORD, WORD))
