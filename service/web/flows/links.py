"""The link of a mail over HTTP: a page that changes nothing, and its form, which does."""

from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from service.bounds import MAX_FORM_BYTES
from service.domain.access.caller import ServiceCaller
from service.domain.accounts.factor_proofs import Proof, RecoveryCode, TotpCode
from service.domain.confirmations import links
from service.domain.confirmations.links import BY_CODE, MailLink, asks_factor, asks_own_password, choose_page, find_link
from service.domain.confirmations.resets import NewSecret
from service.domain.confirmations.verification import VERIFY, Ownership
from service.domain.limits.policies import CODES
from service.domain.mail_flows.codes import MAX_TOKEN
from service.errors import (
    Busy,
    EmailInUse,
    FactorRequired,
    Invalid,
    InvalidCode,
    InvalidFactor,
    LimitExceeded,
    WrongPassword,
)
from service.mail.texts import find_language
from service.query.parse import parse_pairs
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.auth.client_address import find_client_address, read_client
from service.web.flows.pages import PageForm, redirect, render_page
from service.web.http.forms import URLENCODED, read_urlencoded
from service.web.http.locales import find_locale
from service.web.openapi.declaration import HTML, TEXT, Content, Parameter, Success, Tag
from service.web.openapi.endpoint import endpoint

PARAMETERS = (
    Parameter(name="t", description="The token of the mail.", schema={"type": "string", "maxLength": MAX_TOKEN}),
    Parameter(name="done", description="Shows that all is done.", schema=TEXT),
)
NAMES = frozenset(parameter.name for parameter in PARAMETERS)
LOST = Success("A page: the link is not good any more", status=400, content=(HTML,))
FORM = {
    "type": "object",
    "properties": {
        "password": {"type": "string", "format": "password"},
        "factor": {"type": "string"},
        "without_password": {"type": "string"},
    },
}
# The parameter with the code that an app exchanges at /auth-collections/token.
CODE_PARAMETER = "svc-code"
# The button of a person who has not made the account.
WITHOUT_PASSWORD = "without_password"  # noqa: S105 - the name of a field

of_link = partial(endpoint, credential=Credential.NONE, tag=Tag.MAILS, parameters=PARAMETERS)


@of_link(
    "GET /auth-collections/link",
    description="Looking at it, however often, changes nothing: programs look at the links of mails, too.",
    answer=(Success("The page", content=(HTML,)), LOST),
)
async def show_link(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """The page behind the link of a mail; looking at it changes nothing."""
    parameters = _parameters(request)
    if "done" in parameters:
        return render_page("done", find_locale(request))
    token = parameters.get("t", "")
    try:
        link = await find_link(services.accounts, token)
    except InvalidCode:
        return render_page("lost", find_locale(request), status=400)
    return _page(link, await _first_form(link, token))


@of_link(
    "POST /auth-collections/link",
    description="A form of another origin is refused.",
    body=(Content(schema=FORM, media_type=URLENCODED),),
    max_body=MAX_FORM_BYTES,
    answer=(
        Success("A page that asks for the new password", content=(HTML,)),
        Success("Done", headers={"Location": "The project's page, or one that says so"}, status=303),
        LOST,
        Success("A page: the form came from elsewhere", status=403, content=(HTML,)),
        Success("A page: the address is somebody else's by now", status=409, content=(HTML,)),
    ),
    errors=(Busy,),
)
async def follow_link(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """Do what the link of a mail is for; the form of its page comes here."""
    locale = find_locale(request)
    if not _is_own_form(request, services.base.base_url):
        return render_page("foreign", locale, status=403)
    token = _parameters(request).get("t", "")
    fields = await read_urlencoded(request)
    try:
        link = await find_link(services.accounts, token)
        request.scope["state"]["project"] = link.project
        await _count(request, services, link)
        return await _follow(request, services, link, fields)
    except InvalidCode:
        return render_page("lost", locale, status=400)
    except EmailInUse:
        return render_page("taken", locale, status=409)
    except (LimitExceeded, Busy) as error:
        page = render_page("busy", locale, status=error.status)
        page.headers.update(error.headers)
        return page


async def _follow(request: Request, services: Services, link: MailLink, fields: dict[str, str]) -> Response:
    password, client = fields.get("password"), read_client(request, services)
    form = await _first_form(link, _parameters(request).get("t", ""))
    goes_without = form.may_go_without and WITHOUT_PASSWORD in fields
    if form.page == BY_CODE or (password is None and (link.takes_password or link.is_new_address)):
        return _page(link, form)
    if form.asks_own_password and password == "" and not goes_without:
        # A program that submits forms chooses neither.
        return _page(link, form)
    new = NewSecret(password or "", client, _read_factor(fields.get("factor", "")))
    own = password if form.asks_own_password and not goes_without else None
    around = find_language(link.flow.locale).around
    try:
        code = await links.follow_link(services.accounts, link, new, Ownership(client, password=own))
    except Invalid as error:
        return _page(link, replace(form, fault=next(iter(error.violations)).msg), status=422)
    except (FactorRequired, InvalidFactor):
        return _page(link, replace(form, asks_factor=True, fault=around["factor_wrong"]), status=401)
    except WrongPassword:
        return _page(link, replace(form, fault=around["password_wrong"]), status=401)
    return redirect(_next_page(link, code))


async def _first_form(link: MailLink, token: str) -> PageForm:
    """The form of the link's page, with a field for each thing that the link asks."""
    form = PageForm(token, link.flow.address, await choose_page(link), may_go_without=link.flow.purpose == VERIFY)
    if link.takes_password:
        return replace(form, asks_password=True, asks_factor=await asks_factor(link))
    return replace(form, asks_own_password=await asks_own_password(link))


def _read_factor(text: str) -> Proof | None:
    """The proof in the page's one field for it: six digits are a code of an app."""
    if not text:
        return None
    return TotpCode(text) if text.replace(" ", "").isdigit() else RecoveryCode(text)


def _next_page(link: MailLink, code: str | None) -> str:
    page = link.flow.redirect_to or "?done=1"
    return page if code is None else f"{page}{'&' if '?' in page else '?'}{CODE_PARAMETER}={code}"


def _page(link: MailLink, form: PageForm, *, status: int = 200) -> Response:
    flow = link.flow
    return render_page(
        form.page,
        flow.locale,
        status=status,
        project=link.project.name,
        form=form if form.page != BY_CODE else None,
        redirect_to=flow.redirect_to,
    )


async def _count(request: Request, services: Services, link: MailLink) -> None:
    """Raises LimitExceeded."""
    if CODES.limit(link.project.settings):
        address = find_client_address(request, services.web.trusted_proxies)
        await services.limits.take_one(link.project, CODES, address)


def _parameters(request: Request) -> dict[str, str]:
    pairs = parse_pairs(request.scope["query_string"])
    for name, _ in pairs:
        if name not in NAMES:
            raise Invalid.one(("query", name), "This endpoint takes no such parameter", type_="extra_forbidden")
    return dict(pairs)


def _is_own_form(request: Request, base_url: str) -> bool:
    """True if the browser's headers show that our own page sent this (the Fetch standard's Origin; W3C Fetch Metadata)."""
    site, origins = request.headers.get("sec-fetch-site"), request.headers.getlist("origin")
    own = urlsplit(base_url)
    if origins == [f"{own.scheme}://{own.netloc}"]:
        return site in {None, "same-origin"}
    return origins in ([], ["null"]) and site == "same-origin"
