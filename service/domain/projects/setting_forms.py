"""The form of the settings of a project: their JSON Schema, with the groups, titles, units and needs of a form. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from service.domain.projects.settings import ProjectSettings

JsonSchema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class SettingForm:
    """A setting in a form. `zero` is the meaning of 0, `needs` the settings that must have these values with it."""

    title: str
    unit: str | None = None
    zero: str | None = None
    needs: Mapping[str, str] | None = None


NO_LIMIT = "no limit"
AN_HOUR = "an hour"
GROUPS: Mapping[str, Mapping[str, SettingForm]] = {
    "Passwords": {
        "PASSWORD_MIN_LENGTH": SettingForm("Shortest password", "characters"),
        "PASSWORD_CHECK": SettingForm("Common and leaked passwords"),
        "LOGIN_FAILURES": SettingForm("Close an account after wrong passwords"),
    },
    "CAPTCHA": {
        "CAPTCHA": SettingForm("CAPTCHA"),
        "CAPTCHA_ON": SettingForm("Requests that need one"),
        "CAPTCHA_SITE_KEY": SettingForm("Site key"),
        "CAPTCHA_SECRET": SettingForm("Secret"),
        "CAPTCHA_HOSTS": SettingForm("Hosts of the pages"),
    },
    "E-mail addresses": {
        "EMAIL_VERIFICATION": SettingForm("Proof of the address"),
        "PRIVATE_ACCOUNTS": SettingForm("Hide which addresses have accounts", needs={"EMAIL_VERIFICATION": "required"}),
    },
    "User names": {"USERNAMES": SettingForm("Sign-in by a user name")},
    "Anonymous users": {
        "ANONYMOUS": SettingForm("Users without an address"),
        "ANONYMOUS_LIMIT": SettingForm("Anonymous signups from one address", AN_HOUR, NO_LIMIT),
        "ANONYMOUS_DAYS": SettingForm("Life of an unused anonymous user", "days"),
    },
    "Second factors": {
        "MFA": SettingForm("Second factors"),
        "MFA_ROLES": SettingForm("Roles that must have one"),
        "WEBAUTHN_RP_ID": SettingForm("Domain of passkeys"),
        "WEBAUTHN_ORIGINS": SettingForm("Origins that may ask for passkeys"),
    },
    "Sessions": {
        "TOKEN_ISSUER": SettingForm("Issuer of user tokens"),
        "ACCESS_TOKEN_LIFETIME": SettingForm("Life of a user token", "seconds"),
        "SESSION_LIFETIME": SettingForm("Life of a session", "seconds"),
        "SESSION_IDLE": SettingForm("Life of an unused session", "seconds", NO_LIMIT),
        "REFRESH_GRACE": SettingForm("Grace for a used refresh token", "seconds", "none"),
        "REFRESH_LIMIT": SettingForm("Refreshes of a session", AN_HOUR, NO_LIMIT),
        "ACT_AS": SettingForm("Operators may act as users"),
    },
    "Pages and apps": {
        "CORS_ORIGINS": SettingForm("Origins that may call the service"),
        "REDIRECT_URLS": SettingForm("Pages to which links lead"),
        "REALTIME_USERS": SettingForm("Users can be followed"),
    },
    "Sign-in through a provider": {
        "LINKING": SettingForm("Linking by a proven address"),
        "PROFILE_CLAIMS": SettingForm("Claims kept in new users"),
        "IDP_CLIENT_ID": SettingForm("Client id"),
        "IDP_CLIENT_SECRET": SettingForm("Client secret"),
        "IDP_REDIRECT_URL": SettingForm("Callback URL"),
        "IDP_COMPLETE_URL": SettingForm("Page after the sign-in"),
        "IDP_ISSUER": SettingForm("Issuer"),
        "IDP_AUTHORIZE_URL": SettingForm("Authorization endpoint"),
        "IDP_TOKEN_URL": SettingForm("Token endpoint"),
        "IDP_USERINFO_URL": SettingForm("Userinfo endpoint"),
        "IDP_SCOPES": SettingForm("Scopes"),
        "IDP_CLIENT_AUTH": SettingForm("Client authentication"),
        "IDP_BIND_BROWSER": SettingForm("Bind a sign-in to its browser"),
    },
    "Mail": {
        "SMTP_URL": SettingForm("Mail server"),
        "MAIL_FROM": SettingForm("Sender"),
        "MAIL_DELIVERY": SettingForm("Delivery"),
        "MAIL_TEXTS": SettingForm("Texts"),
        "MAIL_LIMIT": SettingForm("Mails", "a day", NO_LIMIT),
        "MAIL_REQUEST_LIMIT": SettingForm("Requests for mails from one address", AN_HOUR, NO_LIMIT),
        "CODE_LIMIT": SettingForm("Codes and links from one address", AN_HOUR, NO_LIMIT),
    },
    "Limits": {
        "TIER": SettingForm("Tier"),
        "DAILY_LIMIT": SettingForm("Requests", "a day", NO_LIMIT, {"TIER": "enterprise"}),
        "COLLECTION_LIMIT": SettingForm("Collections", None, NO_LIMIT),
        "SIGNUP_LIMIT": SettingForm("Signups from one address", AN_HOUR, NO_LIMIT),
        "LOGIN_LIMIT": SettingForm("Logins from one address", AN_HOUR, NO_LIMIT),
        "AUTH_LIMIT": SettingForm("Other requests about accounts", AN_HOUR, NO_LIMIT),
        "FILE_LIMIT": SettingForm("Reads of files from one address", AN_HOUR, NO_LIMIT),
    },
    "Events": {
        "EVENT_DAYS": SettingForm("Life of events", "days", "none are recorded"),
        "FEED": SettingForm("Events that the feed keeps"),
        "FEED_INCLUDE": SettingForm("Records in the events of the feed"),
    },
}
NEEDS: Mapping[str, Mapping[str, str]] = {
    name: form.needs for group in GROUPS.values() for name, form in group.items() if form.needs
}


@cache
def settings_schema() -> JsonSchema:
    """The JSON Schema (2020-12) of the settings that a request may send; each may be null as well, for its default.

    A list is the text of its values, separated by commas, as in a command.
    """
    return {
        "$schema": DIALECT,
        "title": "Settings of a project",
        "type": "object",
        "additionalProperties": False,
        "properties": dict(_properties()),
    }


def _properties() -> Iterator[tuple[str, JsonSchema]]:
    made = ProjectSettings.model_json_schema(by_alias=True)["properties"]
    for group, forms in GROUPS.items():
        for order, (name, form) in enumerate(forms.items()):
            yield name, plain_schema(made[name]) | _describe(form) | {"x-group": group, "x-order": order}


def _describe(form: SettingForm) -> JsonSchema:
    parts = {"title": form.title, "x-unit": form.unit, "x-zero": form.zero, "x-needs": form.needs}
    return {name: value for name, value in parts.items() if value is not None}


def plain_schema(made: JsonSchema) -> JsonSchema:
    """Pydantic's schema of a field without its null and its items; no default stands for an empty one."""
    kinds = [kind for kind in made.get("anyOf", [made]) if kind.get("type") != "null"]
    values = {
        name: value for name, value in kinds[0].items() if name not in {"items", "maxItems", "additionalProperties"}
    }
    if values.get("type") == "array":
        values["type"] = "string"
    default = made.get("default")
    if isinstance(default, list):
        default = ",".join(default)
    return values | {
        "description": " ".join(made["description"].split()),
        "default": None if default in ("", {}) else default,
    }
