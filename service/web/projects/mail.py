"""Trying the mail server of a project, and its mailbox: the mails that were not sent."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from service.domain.access.caller import OperatorCaller
from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Target
from service.domain.mail_flows.mailbox import read_messages
from service.domain.permissions import Access
from service.errors import Busy, LimitExceeded, MailNotFound
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.http.json_body import RequestWith, read_form
from service.web.http.render import Json
from service.web.mails.endpoints import EXAMPLE_MESSAGE, MAIL_ID, MessageList, message_view
from service.web.openapi.declaration import HTML, Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint
from service.web.openapi.shapes import Strict
from service.web.projects.providers import StepView, steps_view

# A trial takes ten seconds, and looks at the address once more.
TRIAL_SECONDS = 15.0
EXAMPLE_TRIAL = {"ok": True, "steps": [{"step": "connect", "ok": True, "detail": None}], "reply": "250 OK"}
# The text of a mail is the project's: no script, no request, and no page but ours around it.
PAGE_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
READ = Access("config", "write", confirm=True)

in_project = partial(endpoint, credential=Credential.OPERATOR_IN_PROJECT, tag=Tag.PROJECTS)


class MailTestForm(Strict):
    """The address that gets the mail."""

    to: str


class MailTestView(TypedDict):
    """The steps in their order, up to the first that failed; `reply` is the last line of the server."""

    ok: bool
    steps: list[StepView]
    reply: str | None


@in_project(
    f"POST {IN_PROJECT}/smtp-test",
    operator=Access("config", "write"),
    description="Within 10 seconds. A failure in a private network is `not allowed`. A project has 20 tests an hour.",
    body={"to ann": {"to": "ann@example.com"}},
    answer=Success("The outcome of each step", {"good": EXAMPLE_TRIAL}),
    errors=(LimitExceeded, Busy),
    answer_seconds=TRIAL_SECONDS,
)
async def test_mail_server(
    request: RequestWith[MailTestForm], caller: OperatorCaller, services: Services
) -> Json[MailTestView]:
    """Send a test mail by the project's mail server."""
    form = await read_form(request)
    trial = await services.trials.test_mail(caller.project, form.to)
    return Json({"ok": trial.ok, "steps": steps_view(trial), "reply": trial.reply})


@in_project(
    f"GET {IN_PROJECT}/mailbox",
    operator=READ,
    description="With their codes and links, which sign users in: each call leaves an entry in the audit log.",
    answer=Success("The mails, newest first", {"one": {"messages": [EXAMPLE_MESSAGE]}}),
)
async def read_mailbox(request: Request, caller: OperatorCaller, services: Services) -> Json[MessageList]:
    """List the mails of a project that were not sent."""
    await _note(caller, services, Target("project", caller.project.id, caller.project.name))
    found = await read_messages(services.flows, caller.project.id)
    return Json({"messages": [message_view(message) for message in found if message.html is not None]})


@in_project(
    f"GET {IN_PROJECT}/mailbox/{{id}}/html",
    operator=READ,
    path_parameters=MAIL_ID,
    description="In a sandbox, without scripts. Each call leaves an entry in the audit log.",
    answer=Success("The page of the mail", content=(HTML,)),
    errors=(MailNotFound,),
)
async def read_mail_page(request: Request, caller: OperatorCaller, services: Services) -> Response:
    """Show the HTML of a mail that was not sent."""
    id_ = request.path_params["id"]
    await _note(caller, services, Target("mail", id_))
    found = await read_messages(services.flows, caller.project.id)
    html = next((message.html for message in found if message.id == id_), None)
    if html is None:
        raise MailNotFound
    return Response(html, headers={"content-security-policy": PAGE_POLICY}, media_type="text/html; charset=utf-8")


async def _note(caller: OperatorCaller, services: Services, target: Target) -> None:
    await services.base.audit.note(Act(Action.MAILBOX_READ, target, caller.project.id))
