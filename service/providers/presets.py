"""Providers that are known by name: where each is, and what is peculiar to it. `presets.toml` has a table for each."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

FILE = Path(__file__).with_name("presets.toml")


@dataclass(frozen=True, slots=True)
class Preset:
    """One table of the file. What is None a project must set itself, as far as it is needed.

    `title` is what people call the provider, `kind` how it is asked.
    """

    name: str
    title: str
    kind: Literal["openid", "oauth2"]
    scopes: str
    issuer: str | None = None
    authorize_url: str | None = None
    token_url: str | None = None
    userinfo_url: str | None = None
    client_auth: str | None = None


@cache
def presets() -> dict[str, Preset]:
    """By name, in the order of the file. Read when first needed."""
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: Preset(name=name, **table) for name, table in tables.items()}
