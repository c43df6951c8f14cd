"""Resets of the password of a user with a second factor."""

from typing import Any

from service.services import Services
from tests.web.factors.apps import Member, guest
from tests.web.flows.mailbox import ask, newest

NEW = "a better password"
RESET = "/auth-collections/reset-password"


async def begin(member: Member, services: Services) -> tuple[dict[str, str], dict[str, str]]:
    """The proofs in the mail, by code and by token.

    The address is proven: for an unproven one the factor is not asked for.
    """
    member.api.database["users"].update_one({"_id": member.user_id}, {"$set": {"email_verified": True}})
    asked = await ask(member.api, "forgot-password", email="ann@example.com")
    mail = await newest(services, member.api, "ann@example.com")
    token = mail.link.partition("?t=")[2]
    return {"flow_id": asked.json()["flow_id"], "code": mail.code}, {"token": token}


async def begin_link(member: Member, services: Services) -> str:
    await begin(member, services)
    return str((await newest(services, member.api, "ann@example.com")).link)


async def reset(member: Member, proof: dict[str, str], **more: Any) -> Any:
    return await guest(member.api, RESET, **proof, password=NEW, **more)
