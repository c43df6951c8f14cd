"""Makes `pocketbase/`: what a real PocketBase keeps of two users, three collections and a file, as text that can be reviewed.

python -m tests.importing.make_pocketbase /path/to/pocketbase
"""

import gzip
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2

FOLDER = Path(__file__).parent / "pocketbase"
PORT = 8123
ADMIN = ("admin@example.com", "admin password")
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63f8cfc0f01f0005000"
    "1ffa5f645400000000049454e44ae426082"
)


def make(program: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "pb_data"
        run = [program, "--dir", str(data)]
        subprocess.run([*run, "superuser", "upsert", *ADMIN], check=True, capture_output=True)  # noqa: S603
        server = subprocess.Popen([*run, "serve", "--http", f"127.0.0.1:{PORT}"], stdout=subprocess.DEVNULL)  # noqa: S603
        try:
            _fill()
        finally:
            server.terminate()
            server.wait(10)
        _keep(data)


def _fill() -> None:
    with httpx2.Client(base_url=f"http://127.0.0.1:{PORT}/api") as client:
        _wait(client)
        login = {"identity": ADMIN[0], "password": ADMIN[1]}
        token = _post(client, "/collections/_superusers/auth-with-password", login)["token"]
        client.headers["authorization"] = token
        users = {
            email: _post(
                client,
                "/collections/users/records",
                {"email": email, "password": word, "passwordConfirm": word, "name": name, "verified": name == "Ann"},
            )["id"]
            for name, email, word in (
                ("Ann", "ann@example.com", "correct horse"),
                ("Bob", "bob@example.com", "battery staple"),
            )
        }
        made = {each["name"]: each["id"] for each in client.get("/collections?perPage=100").json()["items"]}
        tags = _post(
            client, "/collections", {"name": "tags", "type": "base", "fields": [{"name": "label", "type": "text"}]}
        )
        posts = {
            "name": "posts",
            "type": "base",
            "indexes": ["CREATE UNIQUE INDEX `idx_slug` ON `posts` (`slug`)"],
            "fields": [
                {"name": "title", "type": "text", "required": True},
                {"name": "slug", "type": "text"},
                {"name": "stars", "type": "number", "onlyInt": True},
                {"name": "price", "type": "number"},
                {"name": "live", "type": "bool"},
                {"name": "due", "type": "date"},
                {"name": "link", "type": "url"},
                {"name": "state", "type": "select", "maxSelect": 1, "values": ["draft", "public"]},
                {"name": "labels", "type": "relation", "collectionId": tags["id"], "maxSelect": 5},
                {"name": "author", "type": "relation", "collectionId": made["users"], "maxSelect": 1},
                {"name": "extra", "type": "json"},
                {"name": "place", "type": "geoPoint"},
                {"name": "cover", "type": "file", "maxSelect": 1},
                {"name": "created", "type": "autodate", "onCreate": True},
                {"name": "updated", "type": "autodate", "onCreate": True, "onUpdate": True},
            ],
        }
        _post(client, "/collections", posts)
        view = {"name": "titles", "type": "view", "viewQuery": "SELECT id, title FROM posts"}
        _post(client, "/collections", view)
        tag = _post(client, "/collections/tags/records", {"label": "new"})["id"]
        first = {
            "title": "First",
            "slug": "first",
            "stars": 5,
            "price": 1.5,
            "live": True,
            "due": "2026-01-31 12:00:00.000Z",
            "link": "https://example.com",
            "state": "public",
            "labels": [tag],
            "author": users["ann@example.com"],
            "extra": json.dumps({"a": [1, None]}),
            "place": json.dumps({"lon": 2.35, "lat": 48.85}),
        }
        answer = client.post("/collections/posts/records", data=first, files={"cover": ("cover.png", PICTURE)})
        assert answer.status_code == 200, answer.text
        _post(client, "/collections/posts/records", {"title": "Second", "slug": "second"})


def _wait(client: httpx2.Client) -> None:
    for _ in range(100):
        try:
            client.get("/health")
        except httpx2.TransportError:
            time.sleep(0.1)
        else:
            return


def _post(client: httpx2.Client, path: str, body: Mapping[str, Any]) -> Any:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _keep(data: Path) -> None:
    """The database as SQL, and the files."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    with closing(sqlite3.connect(data / "data.db")) as database:
        # Tables of PocketBase itself are not needed, and have secrets.
        for table in ("_params", "_superusers", "_authOrigins"):
            database.execute(f"DELETE FROM {table}")  # noqa: S608 - of this list
        sql = "\n".join(database.iterdump())
    (FOLDER / "data.sql.gz").write_bytes(gzip.compress(sql.encode(), mtime=0))
    for file in (data / "storage").rglob("*"):
        if file.is_file() and not file.name.endswith(".attrs"):
            target = FOLDER / "storage" / file.relative_to(data / "storage")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


if __name__ == "__main__":
    make(sys.argv[1])
