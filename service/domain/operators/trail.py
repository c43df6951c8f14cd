"""The entries of the audit log about operators."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Target
from service.domain.audit.changes import compare
from service.domain.audit.origin import ORIGIN, AuditActor, find_origin

NOTHING: Mapping[str, Any] = {}


def act_on(
    action: Action,
    operator_id: str,
    email: str,
    before: Mapping[str, Any] = NOTHING,
    after: Mapping[str, Any] = NOTHING,
) -> Act:
    """An action about an operator, and the fields that changed."""
    target = Target("operator", operator_id, email)
    return Act(action, target, changes=compare(before, after), is_new=bool(after) and not before)


def speak_as(operator_id: str, name: str) -> None:
    """The operator, who has just been recognized, is the actor of what follows in this request."""
    origin = replace(find_origin(), actor=AuditActor("operator", operator_id, name))
    ORIGIN.set(lambda: origin)
