"""The presets of identity providers, each with the JSON Schema of the settings that a project gives. Pure."""

from functools import cache
from typing import Any

from service.domain.projects.providers import PROVIDER_SECRETS, ProviderSettings
from service.domain.projects.setting_forms import DIALECT, plain_schema
from service.providers.registration import Preset, presets

URLS = {"openid": ("ISSUER",), "oauth2": ("AUTHORIZE_URL", "TOKEN_URL", "USERINFO_URL")}
SIGNED = ("TEAM_ID", "KEY_ID", "PRIVATE_KEY")


@cache
def list_presets() -> list[dict[str, Any]]:
    """`{name, title, schema}` of each, in the order of the file."""
    return [{"name": each.name, "title": each.title, "schema": _schema(each)} for each in presets().values()]


def _schema(preset: Preset) -> dict[str, Any]:
    """A setting that the preset has is its default; what it lacks is required."""
    made = ProviderSettings.model_json_schema(by_alias=True)["properties"]
    properties = {name: plain_schema(each) for name, each in made.items()}
    for name in properties.keys() & {field.upper() for field in preset.__slots__}:
        value = getattr(preset, name.lower())
        properties[name]["default"] = value if isinstance(value, str) else None
    secret = SIGNED if preset.secret == "signed" else ("CLIENT_SECRET",)  # noqa: S105 - a kind of secret
    missing = [name for name in URLS[preset.kind] if properties[name]["default"] is None]
    for name in PROVIDER_SECRETS:
        properties[name]["writeOnly"] = True
    return {
        "$schema": DIALECT,
        "title": preset.title,
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": ["CLIENT_ID", *secret, *missing],
    }
