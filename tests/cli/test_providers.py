"""`auth-collections provider`: where a project's users may sign in."""

from typing import Any

from pymongo import MongoClient

from faults.commands import Shell

SECRET = "a secret of ours"


def test_a_provider_from_the_first_setting_to_its_removal(shell: Shell, mongo: MongoClient[Any]) -> None:
    shell.json("project", "create", "P", "--id", "p")
    assert shell.json("provider", "list", "p") == []
    arguments = ("CLIENT_ID=app", f"CLIENT_SECRET={SECRET}", "ISSUER=https://login.example.com")
    made = shell.json("provider", "set", "p", "staff", "--preset", "oidc", *arguments)
    assert made == {
        "id": "staff",
        "name": "staff",
        "preset": "oidc",
        "redirect_url": "http://127.0.0.1:8000/auth-collections/auth-idp-redirect/p/staff",
        "settings": {"CLIENT_ID": "app", "CLIENT_SECRET": "********", "ISSUER": "https://login.example.com"},
    }
    assert shell.json("provider", "show", "p", "staff") == made
    assert shell.json("provider", "set", "p", "oidc", *arguments)["name"] == "OpenID Connect"
    changed = shell.json("provider", "set", "p", "staff", "SCOPES=openid email", "CLIENT_SECRET=")
    assert changed["settings"] == {
        "CLIENT_ID": "app",
        "ISSUER": "https://login.example.com",
        "SCOPES": "openid email",
    }
    (record,) = mongo[f"{shell.environment['DATABASE_PREFIX']}system"]["projects"].find()
    assert record["providers"].keys() == {"staff", "oidc"}
    assert SECRET not in str(record)
    listed = shell.json("provider", "list", "p")
    assert [entry["id"] for entry in listed] == ["staff", "oidc"]
    assert all(entry.keys() == {"id", "name", "preset", "redirect_url"} for entry in listed)
    assert shell.json("provider", "remove", "p", "staff") == {"project_id": "p", "id": "staff", "removed": True}
    assert [entry["id"] for entry in shell.json("provider", "list", "p")] == ["oidc"]


def test_a_provider_from_which_no_page_is_reached_is_set_with_that_said(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p")
    arguments = ("provider", "set", "p", "google", "CLIENT_ID=app", "CLIENT_SECRET=b")
    lacks = "Browsers cannot sign in with google yet; set the page to which they return: "
    assert f"{lacks}project set p IDP_COMPLETE_URL=https://...\n" in shell.run(*arguments).stderr
    for name in ("IDP_COMPLETE_URL", "REDIRECT_URLS"):
        shell.json("project", "set", "p", f"{name}=https://app.example.com/in")
        assert lacks not in shell.run(*arguments).stderr
        shell.json("project", "set", "p", f"{name}=")


REFUSED = (
    (("set", "p", "oidc", "CLIENT_ID=a"), "ISSUER key missing"),
    (
        ("set", "p", "oauth2", "CLIENT_SECRET=a", "TOKEN_URL=https://a.example"),
        "CLIENT_ID key missing; AUTHORIZE_URL key missing; USERINFO_URL key missing",
    ),
    (("set", "p", "nobody", "CLIENT_ID=a"), "There is no preset nobody; --preset is one of oidc, oauth2, google"),
    (("set", "p", "oidc", "CLIENT_ID=a", "COLOUR=red"), "COLOUR is not a setting of a provider"),
    (("set", "p", "oidc", "CLIENT_ID=a", "COLOUR="), "COLOUR is not a setting of a provider"),
    (("set", "p", "oidc", "CLIENT_ID=a", "ISSUER=http://a.example"), "ISSUER: must be an https URL, or an http URL"),
    (("set", "p", "default", "--preset", "oidc"), "A provider's name has 1 to 32 of a-z, 0-9 and -"),
    (("set", "p", "Upper", "--preset", "oidc"), "A provider's name has 1 to 32 of a-z, 0-9 and -"),
    (("set", "p", "oidc", "CLIENT_ID"), "CLIENT_ID: expected KEY=VALUE"),
    (("set", "q", "oidc", "CLIENT_ID=a"), "There is no project q"),
    (("show", "p", "nobody"), "The project p has no provider nobody"),
    (("remove", "p", "nobody"), "The project p has no provider nobody"),
    (("remove", "p", "default"), "default is the provider of the IDP settings"),
)


def test_what_is_refused_is_said_in_one_line(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p")
    for arguments, says in REFUSED:
        refused = shell.run("provider", *arguments)
        assert (refused.returncode, refused.stdout) == (1, ""), arguments
        assert refused.stderr.startswith(f"auth-collections: {says}"), (arguments, refused.stderr)
        assert refused.stderr.count("\n") == 1
    assert shell.json("provider", "list", "p") == []
