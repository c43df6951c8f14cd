"""The targets of uploads: the picture of a user, or the files of a document.

Each makes requests, and finds the named files.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from pymongo.database import Database

from faults.samples import FORM_TYPE, account, data_part, file_part, form, png
from faults.server import Server

RECORDS = 24
LARGEST = 6_000_000
# One request in so many asks for a variant.
VARIANT_EVERY = 6
DOCUMENTS = "/api/collections/things/documents"
PICTURE = {"type": "file", "types": ["png"], "variants": {"thumb": {"width": 8}}}
SCHEMA: dict[str, Any] = {
    "picture": {**PICTURE, "required": True},
    "album": {"type": "array", "items": PICTURE},
    "sku": {"type": "string", "unique": True},
}


class Target(Protocol):
    def prepare(self, server: Server) -> None:
        """Makes so many records, each with a picture."""
        ...

    def request(self, choices: random.Random) -> bytes:
        """A whole request that uploads."""
        ...

    def names(self, database: Database[dict[str, Any]]) -> Iterator[str]:
        """The files that records name, each as often as one does."""
        ...


def raw_request(method: str, path: str, body: bytes, credential: str) -> bytes:
    head = (
        f"{method} {path} HTTP/1.1\r\nhost: x\r\n{credential}\r\n"
        f"content-type: {FORM_TYPE['content-type']}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@dataclass
class UserPictures:
    """Users who replace their pictures."""

    tokens: list[str] = field(default_factory=list)

    def prepare(self, server: Server) -> None:
        for number in range(RECORDS):
            answer = server.signup(form(account(f"user{number}@example.com"), file_part("picture")))
            self.tokens.append(answer.raise_for_status().json()["access_token"])

    def request(self, choices: random.Random) -> bytes:
        token, length = choices.choice(self.tokens), choices.randrange(100, LARGEST)
        body = form(file_part("picture", content=png(length)))
        return raw_request("PUT", "/auth-collections/user", body, f"authorization: Bearer {token}")

    def names(self, database: Database[dict[str, Any]]) -> Iterator[str]:
        for user in database["users"].find():
            yield user["data"]["picture"].rpartition("/")[2]


@dataclass
class DocumentFiles:
    """Documents that are created, replaced, changed and upserted, with a picture and an album; and variants of pictures."""

    key: str = ""
    ids: list[str] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)

    def prepare(self, server: Server) -> None:
        self.key = server.key
        server.request("POST", "/api/collections", json={"name": "things", "schema": SCHEMA}).raise_for_status()
        for number in range(RECORDS):
            body = form(data_part({"sku": str(number)}), file_part("picture"), file_part("album"))
            answer = server.request("POST", DOCUMENTS, content=body, headers=FORM_TYPE)
            document = answer.raise_for_status().json()
            self.ids.append(document["id"])
            self.pictures += (
                url.partition(server.url)[2] for url in (document["data"]["picture"], *document["data"]["album"])
            )

    def request(self, choices: random.Random) -> bytes:
        if self.pictures and not choices.randrange(VARIANT_EVERY):
            return f"GET {choices.choice(self.pictures)}?variant=thumb HTTP/1.1\r\nhost: x\r\n\r\n".encode()
        fields = ["picture", *["album"] * choices.randrange(3)]
        parts = [file_part(name, content=png(choices.randrange(100, LARGEST // 2))) for name in fields]
        number = choices.randrange(RECORDS)
        method, path, data = choices.choice(
            [
                ("POST", DOCUMENTS, {}),
                ("PUT", f"{DOCUMENTS}/{self.ids[number]}", {"sku": str(number)}),
                ("PATCH", f"{DOCUMENTS}/{self.ids[number]}", {}),
                ("PUT", f"{DOCUMENTS}?by=sku", {"sku": str(number)}),
            ]
        )
        return raw_request(method, path, form(data_part(data), *parts), f"x-api-key: {self.key}")

    def names(self, database: Database[dict[str, Any]]) -> Iterator[str]:
        for document in database["c_things"].find():
            yield document["data"]["picture"]
            yield from document["data"].get("album", ())
