"""A page of docs as its reader follows it: saves its files, pastes its commands in order, compares the statuses it names."""

import os
import re
import subprocess
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A paragraph that ends with a path and a colon, and the block below it.
FILE = re.compile(r"`([\w-]+/[\w./-]+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Lines for a file that is there, behind the one line of it that begins with that name.
LINES = re.compile(r"In `([\w./-]+)`, [^`]*after the line of `(\w+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
# The status that a page promises for a request that is refused, behind its command.
REFUSAL = re.compile(r"  # (\d{3})\b")
PRINTED_KEY = re.compile(r"\b(acp?)_\S+")
# Each request ends its line, and writes its status to stderr, out of the way of what is piped on.
NOTING = """set -euo pipefail
curl() { command curl --silent --show-error --write-out '\\n%{stderr}<%{http_code}>\\n' "$@"; }
"""


@dataclass
class Walkthrough:
    """One page, followed in `folder`. `environment` gains the keys that a seed prints, as a reader exports them."""

    page: str
    folder: Path
    environment: dict[str, str]
    # Addresses of the page, and those of the test in their place.
    addresses: dict[str, str]
    output: str = ""
    statuses: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in (".venv", "docs", "service"):
            (self.folder / name).symlink_to(ROOT / name)

    @property
    def text(self) -> str:
        text = (ROOT / "docs" / self.page).read_text()
        for old, new in self.addresses.items():
            text = text.replace(old, new)
        return text

    def follow(self) -> None:
        """From top to bottom. Fails where a command does, or where a request is answered otherwise than the page says."""
        kinds = {FILE: self.save, LINES: self.insert, COMMANDS: self.paste}
        steps = [(found.start(), step, found) for kind, step in kinds.items() for found in kind.finditer(self.text)]
        for _, step, found in sorted(steps, key=itemgetter(0)):
            step(found)
        promised = [int(status) for status in REFUSAL.findall(self.text)]
        assert [status for status in self.statuses if status >= 400] == promised, self.output

    def save(self, found: re.Match[str]) -> None:
        (self.folder / found[1]).write_text(found[2])

    def insert(self, found: re.Match[str]) -> None:
        path = self.folder / found[1]
        path.write_text(re.sub(rf"^ *{found[2]}: .*\n", rf"\g<0>{found[3]}", path.read_text(), flags=re.MULTILINE))

    def paste(self, found: re.Match[str]) -> None:
        # Variables that a block exports are there for the next one, as in one terminal.
        ran = subprocess.run(  # noqa: S603
            ["bash", "-c", f"{NOTING}{found[1]}\nenv -0 > .environment"],  # noqa: S607 - the reader's own shell
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.returncode == 0, f"{found[1]}\n{ran.stdout}{ran.stderr}"
        kept = (self.folder / ".environment").read_text().split("\0")
        self.environment |= dict(line.split("=", 1) for line in kept if "=" in line)
        self.output += ran.stdout
        self.statuses += [int(status) for status in re.findall(r"^<(\d{3})>$", ran.stderr, re.MULTILINE)]
        names = {"ac": "API_KEY", "acp": "PUBLISHABLE_KEY"}
        self.environment |= {names[key[1]]: key[0] for key in PRINTED_KEY.finditer(ran.stdout)}


def follow(page: str, folder: Path, base_url: str, settings: dict[str, str], pages: str) -> Walkthrough:
    """The page, followed against a running service. `pages` is the origin of the reader's own file server."""
    environment = {"PATH": os.environ["PATH"], "URL": base_url, **settings, "BASE_URL": base_url}
    addresses = {"http://127.0.0.1:8080": pages, "http://127.0.0.1:8000": base_url}
    walk = Walkthrough(page, folder, environment, addresses)
    walk.follow()
    return walk
