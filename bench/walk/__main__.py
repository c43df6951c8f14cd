"""`scripts/walk`: how many files of `service/` a request enters, how often it changes file, and how often it returns to one."""

import argparse
import base64
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from bench.checkouts import python_of
from faults.provider import CLIENT_ID, CLIENT_SECRET, running_provider
from service.embedded.mongod import embedded_mongodb

NAMES = (
    *("profile", "list", "list-related", "create-document", "signup", "signup-file", "callback"),
    *("create-by-rule", "change-by-rule", "list-by-rule", "batch-by-rule", "subscribe", "refresh", "reset"),
)
# Every so many requests a limit asks MongoDB for more, which is not the usual way.
UNLIMITED = {"TIER": "enterprise"} | dict.fromkeys(("DAILY_LIMIT", "SIGNUP_LIMIT", "LOGIN_LIMIT", "AUTH_LIMIT"), "0")
TRACED = Path(__file__).with_name("traced.py")
HERE = Path(__file__).parents[2]


class Counts(NamedTuple):
    """A change is a step into another file, the first one included; a return one into a file that was left."""

    files: int
    changes: int
    returns: int


def count(files: list[str]) -> Counts:
    """Counts a walk: the files that a request entered, in order, no two alike beside each other."""
    entered = len(set(files))
    return Counts(entered, len(files), len(files) - entered)


def trace(checkout: Path) -> dict[str, list[str]]:
    """The walk of each request through the service of `checkout`, on a MongoDB and a provider made for it."""
    with tempfile.TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri, running_provider() as provider:
        settings = {
            "IDP_CLIENT_ID": CLIENT_ID,
            "IDP_CLIENT_SECRET": CLIENT_SECRET,
            "IDP_ISSUER": provider.issuer(),
            "IDP_REDIRECT_URL": "http://service.test/callback",
            "IDP_COMPLETE_URL": "https://app.example.com/done",
            **UNLIMITED,
        }
        environment = {
            **os.environ,
            "MONGODB_URI": uri,
            "SECRET_KEY": base64.b64encode(b"w" * 32).decode(),
            "BASE_URL": "http://service.test",
            "BCRYPT_COST": "4",
            "WALK_SETTINGS": json.dumps(settings),
        }
        out = subprocess.check_output([python_of(checkout), TRACED], cwd=checkout, env=environment)  # noqa: S603
    walks: dict[str, list[str]] = json.loads(out.splitlines()[-1])
    return walks


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/walk", description=__doc__)
    parser.add_argument("name", nargs="?", choices=NAMES, help="print this request's files, in the order of its way")
    parser.add_argument("--checkout", type=Path, default=HERE, help="walk through this checkout's service")
    parser.add_argument("--table", action="store_true", help="count every request; what no name does too")
    parser.add_argument("--before", type=Path, help="put the counts of this checkout before those of the other")
    arguments = parser.parse_args()
    walks = trace(arguments.checkout.resolve())
    if arguments.name and not arguments.table:
        print_walk(walks[arguments.name])
    else:
        print_table([trace(arguments.before.resolve()), walks] if arguments.before else [walks])


def print_walk(files: list[str]) -> None:
    """A line a change of file; `new` where the file was not entered before."""
    for position, name in enumerate(files):
        print("   " if name in files[:position] else "new", name)  # noqa: T201 - the command's output
    print("{} files, {} changes of file, {} returns".format(*count(files)))  # noqa: T201


def print_table(columns: list[dict[str, list[str]]]) -> None:
    """A row a request, a column a checkout."""
    print(f"{'files/changes/returns':22}" + "".join(f"{name:>14}" for name in ("before", "now")[-len(columns) :]))  # noqa: T201
    for name in NAMES:
        cells = ["/".join(map(str, count(walks[name]))) for walks in columns]
        print(f"{name:22}" + "".join(f"{cell:>14}" for cell in cells))  # noqa: T201


if __name__ == "__main__":
    main()
