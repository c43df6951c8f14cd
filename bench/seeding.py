"""The rate at which `auth-collections seed` stores documents: a JSON Lines file, a fresh embedded database, the whole
command.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

MANIFEST = """
project: {id: bench, name: Bench}
collections:
  things:
    schema:
      sku: {type: string, required: true, unique: true}
      name: {type: string}
      price: {type: number}
      stock: {type: integer}
      tags: {type: array, items: {type: string}}
      made: {type: datetime}
    documents:
      - {file: things.jsonl, key: [sku]}
"""


def main() -> None:
    """Seeds twice and prints what the command prints: the second run finds everything there."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("documents", type=int, nargs="?", default=100_000)
    count = arguments.parse_args().documents
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "seed.yaml").write_text(MANIFEST)
        with Path(folder, "things.jsonl").open("w") as file:
            file.writelines(f"{json.dumps(_thing(number))}\n" for number in range(count))
        for _ in range(2):
            _seed(folder)


def _thing(number: int) -> dict[str, object]:
    return {
        "sku": f"sku-{number}",
        "name": f"Thing number {number}",
        "price": number % 997 / 10,
        "stock": number % 50,
        "tags": ["one", "two"],
        "made": "2026-01-31T12:00:00Z",
    }


def _seed(folder: str) -> None:
    environment = {**os.environ, "DATA_DIR": f"{folder}/data", "MONGODB_URI": ""}
    command = [sys.executable, "-m", "service", "seed", f"{folder}/seed.yaml"]
    subprocess.run(command, env=environment, check=True)  # noqa: S603 - our own command


if __name__ == "__main__":
    main()
