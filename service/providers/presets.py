"""Providers that are known by name: where each is, and what is peculiar to it. `presets.toml` has a table for each."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

FILE = Path(__file__).with_name("presets.toml")


@dataclass(frozen=True, slots=True)
class Preset:
    """One table of the file. A project must set the values that are None, as far as they are needed.

    `title` is the provider's name for people, `kind` its protocol. The fields below `client_auth` are as in `Quirks`; a
    `secret` that is signed takes the place of a fixed one.
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
    issuers: tuple[str, ...] = ()
    response_mode: str | None = None
    emails_path: str | None = None
    claims: Mapping[str, str] = field(default_factory=dict)
    true_values: tuple[object, ...] = (True,)
    has_userinfo: bool = True
    trust: Literal["none", "verified", "google"] = "none"
    secret: Literal["fixed", "signed"] = "fixed"  # noqa: S105 - a kind of one
    posts_name: bool = False


@cache
def presets() -> dict[str, Preset]:
    """By name, in the order of the file. Read when first needed."""
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: Preset(name=name, **{key: _plain(value) for key, value in table.items()})
        for name, table in tables.items()
    }


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
