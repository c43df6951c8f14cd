"""Results of sign-ins: a second factor or a mail that is still needed is a result, not an error."""

from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

from auth_collections_client.answers import Answer
from auth_collections_client.errors import RequestError, ServiceError
from auth_collections_client.narrow import object_of
from auth_collections_client.results import EnrolmentNeeded, FactorNeeded, MailSent, SignedIn, read_user

SignIn: TypeAlias = SignedIn[Any] | FactorNeeded | EnrolmentNeeded | MailSent


def needed(error: ServiceError) -> FactorNeeded | EnrolmentNeeded | None:
    """Returns what a refused sign-in still needs, or None where it is refused for good."""
    body = object_of(error.body)
    flow_id = body.get("flow_id")
    if not isinstance(flow_id, str):
        return None
    if error.code == "mfa_required":
        return FactorNeeded(flow_id, list(body.get("methods", ())))
    return EnrolmentNeeded(flow_id) if error.code == "mfa_enrolment_required" else None


def mail_sent(answer: Answer, verifier: str | None = None) -> MailSent:
    body = answer.body
    return MailSent(body["flow_id"], body.get("expires_in"), verifier)


def signed_in(answer: Answer) -> SignedIn[Any]:
    body = answer.body
    return SignedIn(
        read_user(body["user"]),
        flow_id=body.get("flow_id"),
        factor=body.get("factor"),
        recovery_codes=body.get("recovery_codes"),
    )


def read_redirect(url: str) -> str | None:
    """Returns the `svc-code` that a redirect brought, or None; `svc-super-token` is ignored.

    Raises RequestError for `svc-error`, and for a code that stands twice.
    """
    found = parse_qs(urlsplit(url).query, keep_blank_values=True)
    errors, codes = found.get("svc-error"), found.get("svc-code")
    if errors:
        raise RequestError("The sign-in was refused.", code=errors[0])
    if codes is None:
        return None
    if len(codes) != 1 or not codes[0]:
        raise RequestError("The redirect brings more than one code, or an empty one.", code="invalid_code")
    return codes[0]
