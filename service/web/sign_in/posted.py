"""The callback of providers that have the browser post their answer as a form (OAuth 2.0 Form Post Response Mode)."""

import base64
import hashlib
import html

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from service.bounds import MAX_FORM_BYTES
from service.domain.access.caller import AnonymousCaller
from service.domain.limits.policies import AUTH
from service.domain.sign_in.flow import Callback
from service.domain.sign_in.registration import completion_page, is_posted
from service.errors import ConfigurationMissing, Invalid, ProjectNotFound, ProviderNotFound
from service.schema import strict_json
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.auth.client_address import read_client
from service.web.http.forms import URLENCODED, read_urlencoded
from service.web.openapi.declaration import HTML, TEXT, Content, ErrorExample, Success, Tag
from service.web.openapi.endpoint import KeyUse, endpoint
from service.web.sign_in.bodies import MAX_NAME
from service.web.sign_in.endpoints import PROVIDER_ANSWER_SECONDS, name_provider, read_browser, redirect_response

# Fields that our own page posts again, and the name of the field that marks such a post.
FIELDS = ("state", "code", "iss", "error", "user")
AGAIN = "again"
SCRIPT = "document.forms[0].submit()"
SCRIPT_HASH = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
PAGE_HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "content-security-policy": f"default-src 'none'; script-src 'sha256-{SCRIPT_HASH}'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
}


@endpoint(
    "POST /auth-collections/auth-idp-redirect/{project_id}/{provider}",
    credential=Credential.PROJECT_IN_PATH,
    policy=AUTH,
    tag=Tag.SIGN_IN,
    description="Browsers come here from a provider that has them post its answer as a form. Where the project binds sign-ins "
    "to browsers, the first answer is a page that posts the same once more, with the cookie.",
    body=(
        Content(
            schema={
                "type": "object",
                "properties": dict.fromkeys(FIELDS, TEXT),
            },
            media_type=URLENCODED,
        ),
    ),
    max_body=MAX_FORM_BYTES,
    idempotency_key=KeyUse.IGNORED,
    answer=(
        Success("A page that posts the form again", content=(HTML,)),
        Success(
            "To the project's page, with a token, a code or an error code",
            headers={"Location": "The project's page"},
            status=302,
        ),
        Success("This provider has no form posted", status=405),
    ),
    errors=(ErrorExample(ConfigurationMissing, "IDP_COMPLETE_URL key missing"), ProjectNotFound, ProviderNotFound),
    answer_seconds=PROVIDER_ANSWER_SECONDS,
)
async def posted_callback(request: Request, caller: AnonymousCaller, services: Services) -> Response:
    """Take the browser back from a provider that has it post a form."""
    project, provider = caller.project, name_provider(request.path_params["provider"])
    page = completion_page(project, provider)
    if not is_posted(project, provider):
        raise HTTPException(405, headers={"allow": "GET"})
    form = await read_urlencoded(request)
    # The cookie that binds a sign-in to its browser comes with a form of our own page only (SameSite=Lax).
    if project.settings.idp_bind_browser and AGAIN not in form:
        return _page_that_posts_again(form)
    callback = Callback(
        state=form.get("state"),
        code=None if "error" in form else form.get("code"),
        issuer=form.get("iss"),
        browser=read_browser(request),
        provider=provider,
        name=_read_name(form.get("user")),
    )
    result = await services.sign_in.complete(project, callback, read_client(request, services))
    return redirect_response(result.page or page, result)


def _page_that_posts_again(form: dict[str, str]) -> Response:
    """Spends nothing. With no script there is a button."""
    fields = {name: form[name] for name in FIELDS if name in form} | {AGAIN: "1"}
    inputs = "".join(
        f'<input type=hidden name="{name}" value="{html.escape(value)}">' for name, value in fields.items()
    )
    page = (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Signing in</title>"
        f"<form method=post>{inputs}<button>Continue</button></form><script>{SCRIPT}</script></html>"
    )
    return Response(page, headers=PAGE_HEADERS, media_type="text/html; charset=utf-8")


def _read_name(text: str | None) -> str | None:
    """The name in what Apple posts the first time, {"name": {"firstName", "lastName"}, "email"}; never the address."""
    try:
        user = strict_json.loads((text or "null").encode())
    except Invalid:
        return None
    name = user.get("name") if isinstance(user, dict) else None
    if not isinstance(name, dict):
        return None
    parts = [part for key in ("firstName", "lastName") if isinstance(part := name.get(key), str)]
    return " ".join(parts).strip()[:MAX_NAME] or None
